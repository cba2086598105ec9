"""A transcript format: how its files are recognised, and how they are read, at once or while they are being written."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.imported import ImportedTranscript, SkippedLine
from ullage.formats.transcripts.reader_state import copy_state, read_state, write_state


class Records(Struct, frozen=True, kw_only=True):
    """The records of one conversation of a document, in the order in which they were written. `skipped` has an entry
    for each other conversation of the document."""

    lines: tuple[Line, ...]
    skipped: tuple[SkippedLine, ...] = ()


class Reader(Protocol):
    """Reads the records of one conversation, one by one, and adds events to the `TranscriptBuilder` that it was made
    with.

    A reader never looks at later records, so reading a file in pieces gives the same events as reading it at once.
    """

    def take(self, record: Line) -> None:
        """Reads the next record. Events that later records may still change, such as an answer that is spread over
        several records, are added later."""
        ...

    def finish(self) -> None:
        """Adds the events that are still held back. No record may follow."""
        ...


class Format(Struct, frozen=True, kw_only=True):
    """A transcript format: how its files are recognised and read.

    `name` is the name that users give with `--format`. `matches` returns whether a file has this format, judged by
    its content alone. `read` raises `UnreadableTranscript` if the file contains no message, and `InvalidRequest` if
    it doesn't contain the wanted run. `records` and `reader` are set if the format can be read while a program is
    still writing it. `is_complete` is set if the file can say that what the reader holds back is complete. It is
    called with the reader when nothing has been written for a while. `begins_another` is set if a file may hold
    several conversations, one after the other, and returns whether a line may begin another one. `may_take_back`
    says that after a user has gone back to an earlier message, the messages after it may return, and the file then
    no longer says that they were left out. `starts_over` is set if the lines of several conversations may come
    mixed, of which the reader leaves out the others'. It is called with the reader and with further lines, and
    returns whether with them the file's conversation may be another one than the reader's. `last_answer` returns,
    of the last lines of a file, the place of the one from which on a reading shows the last usage as a reading of
    all lines does; the number of the lines if they don't show it. Without it that is so of the first of any last
    lines. `reads_folders` says whether it also reads a folder, of which it chooses one conversation.
    """

    name: str
    matches: Callable[[Document], bool]
    read: Callable[[Document], ImportedTranscript]
    records: Callable[[Document], Records] | None = None
    reader: Callable[[TranscriptBuilder], Reader] | None = None
    is_complete: Callable[[Any], bool] | None = None
    begins_another: Callable[[Line], bool] | None = None
    starts_over: Callable[[Any, Sequence[Line]], bool] | None = None
    last_answer: Callable[[Sequence[Line]], int] | None = None
    may_take_back: bool = False
    reads_folders: bool = False


def from_last_answer(known: Format, document: Document, heads: int) -> Document:
    """Returns a part of a file with no more of its last lines than its last usage needs. Its first `heads` lines are
    those that the file begins with. There may be no last lines left."""
    if known.last_answer is None:
        return document
    last = document.lines[heads:]
    return replace(document, lines=(*document.lines[:heads], *last[known.last_answer(last) :]))


def lines_of(document: Document) -> Records:
    """Returns all lines of a file as the records of its only conversation."""
    return Records(lines=document.lines)


def incremental(
    name: str,
    matches: Callable[[Document], bool],
    reader: Callable[[TranscriptBuilder], Reader],
    records: Callable[[Document], Records] = lines_of,
    *,
    reads_folders: bool = False,
) -> Format:
    """Returns a format that can be read while a program is still writing it. Its `read` reads all records of a file
    with `reader`."""

    def read(document: Document) -> ImportedTranscript:
        builder = TranscriptBuilder(name, document.name)
        found = records(document)
        reading = reader(builder)
        for record in found.lines:
            reading.take(record)
        reading.finish()
        for part in found.skipped:
            builder.skip(part.line, part.reason, expected=part.expected)
        return builder.finish()

    return Format(name=name, matches=matches, read=read, records=records, reader=reader, reads_folders=reads_folders)


class OpenReading:
    """A reading of one conversation in a file that a program is still writing. `builder` has what was read so far.

    `may_take_back` is as in `Format`. If `goes_on` is true, the lines that are added to the file are the next records.
    Otherwise the file is read again when it has changed, because its further lines need not be records of the same
    conversation.
    """

    def __init__(self, known: Format, builder: TranscriptBuilder, reader: Reader, *, goes_on: bool) -> None:
        self.builder = builder
        self.goes_on = goes_on
        self.may_take_back = known.may_take_back
        self.format = known.name
        self._known = known
        self._reader = reader

    def goes_on_with(self, lines: Sequence[Line]) -> bool:
        """Returns whether these lines, which were added to the file, are the next records."""
        begins, starts_over = self._known.begins_another, self._known.starts_over
        if not self.goes_on or (starts_over and starts_over(self._reader, lines)):
            return False
        return not (begins and any(map(begins, lines)))

    def take(self, records: Sequence[Line]) -> None:
        """Reads further records."""
        for record in records:
            self._reader.take(record)

    @property
    def is_complete(self) -> bool:
        """Whether the file says that what the reader holds back is complete."""
        return self._known.is_complete is not None and self._known.is_complete(self._reader)

    def ended(self) -> "OpenReading | None":
        """Returns a copy that has added what the reader holds back, as if the file ended here, and with no events but
        those. Returns None if the reader can't be copied."""
        if self._known.reader is None:
            return None
        builder = TranscriptBuilder(self.format, "")
        reader = self._known.reader(builder)
        if not copy_state(self._reader, self.builder, reader, builder):
            return None
        builder.drain()
        reader.finish()
        return OpenReading(self._known, builder, reader, goes_on=False)

    def finish(self) -> None:
        """Adds what the reader holds back. No record may follow."""
        self._reader.finish()

    def state(self) -> bytes | None:
        """Returns what `reading_from` needs to read further lines in another process. Returns None if these would be of
        another conversation, if there are events that are not drained and forgotten, or if it can't be written."""
        if not self.goes_on or self.builder.events or self._known.reader is None:
            return None
        return write_state(self._reader, self.builder, self._known.reader(TranscriptBuilder(self.format, "")))


def open_reading(known: Format, document: Document) -> OpenReading | None:
    """Returns a reading that has taken the document's records. What its reader holds back is not added, because it may
    be incomplete. Returns None if the format can only be read at once."""
    if known.reader is None or known.records is None:
        return None
    records = known.records(document).lines
    builder = TranscriptBuilder(known.name, document.name)
    reader = known.reader(builder)
    for record in records:
        reader.take(record)
    rest = _lines_after(document, records)
    goes_on = rest == () or bool(rest and known.starts_over and not known.starts_over(reader, rest))
    return OpenReading(known, builder, reader, goes_on=goes_on)


def _lines_after(document: Document, records: Sequence[Line]) -> tuple[Line, ...] | None:
    """Returns the lines of a document after the last of these records, or None if that is no line of it."""
    last = next((place for place, line in enumerate(reversed(document.lines)) if records and line is records[-1]), None)
    return None if last is None else document.lines[len(document.lines) - last :]


def reading_from(known: Format, state: bytes) -> OpenReading | None:
    """Returns the reading with this state (`OpenReading.state`), to be read on with the next lines. Returns None if it
    is none of this format, or of readers that have changed since."""
    if known.reader is None:
        return None
    builder = TranscriptBuilder(known.name, "")
    reader = known.reader(builder)
    return OpenReading(known, builder, reader, goes_on=True) if read_state(state, reader, builder) else None
