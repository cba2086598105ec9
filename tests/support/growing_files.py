"""Reads a transcript in pieces, as it grows."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Format, OpenReading, reading_from
from ullage.model.events import Event


def records_of(known: Format, document: Document) -> tuple[Line, ...]:
    """Returns the records of a document."""
    assert known.records is not None
    return known.records(document).lines


def read_pieces(known: Format, pieces: Sequence[Sequence[Line]]) -> list[Event]:
    """Returns the events of a conversation, drained after each piece and at the end."""
    assert known.reader is not None
    builder = TranscriptBuilder(known.name, "test")
    reader = known.reader(builder)
    events: list[Event] = []
    for piece in pieces:
        for record in piece:
            reader.take(record)
        events += builder.drain()
    reader.finish()
    return [*events, *builder.drain()]


def read_pieces_by_turns(known: Format, pieces: Sequence[Sequence[Line]]) -> list[Event]:
    """Returns the events of a conversation of which each piece is read by another process, which takes up the reading
    of the one before."""
    assert known.reader is not None
    builder = TranscriptBuilder(known.name, "test")
    reading = OpenReading(known, builder, known.reader(builder), goes_on=True)
    events: list[Event] = []
    for piece in pieces:
        reading.take(piece)
        events += reading.builder.drain()
        reading.builder.forget()
        state = reading.state()
        assert state is not None
        taken = reading_from(known, state)
        assert taken is not None
        reading = taken
    reading.finish()
    return [*events, *reading.builder.drain()]


def expect_pieces_to_equal_the_whole(known: Format, lines: Sequence[Line], cuts: Sequence[int]) -> None:
    """Checks that a conversation which grows is read as the whole is: at any length, its events so far stay."""
    bounds = [0, *sorted({min(cut, len(lines)) for cut in cuts}), len(lines)]
    pieces = [lines[start:end] for start, end in pairwise(bounds)]
    whole = read_pieces(known, [lines])
    assert read_pieces(known, pieces) == whole
    assert read_pieces_by_turns(known, pieces) == whole
    for cut in bounds:
        assert known.reader is not None
        builder = TranscriptBuilder(known.name, "test")
        reader = known.reader(builder)
        for record in lines[:cut]:
            reader.take(record)
        assert list(builder.drain()) == whole[: len(builder.events)]
        # The file may end anywhere.
        reader.finish()


def expect_every_split_to_read_alike(known: Format, document: Document) -> None:
    """Checks that a conversation read in two pieces gives what it gives at once, wherever it is cut."""
    lines = records_of(known, document)
    expect_pieces_to_equal_the_whole(known, lines, range(len(lines)))
    whole = read_pieces(known, [lines])
    assert whole
    for cut in range(len(lines)):
        assert read_pieces(known, [lines[:cut], lines[cut:]]) == whole
        assert read_pieces_by_turns(known, [lines[:cut], lines[cut:]]) == whole


def expect_a_growing_log_to_only_add_records(known: Format, document: Document) -> None:
    """Checks that the records of a log's first lines are the first records of the whole log."""
    lines = records_of(known, document)
    for cut in range(1, len(document.lines) + 1):
        part = records_of(known, replace(document, value=None, lines=document.lines[:cut]))
        assert part == lines[: len(part)]
