"""What agents' readers have in common: the loop over records, the counts of a usage, and sub-agents' conversations.

Some agents' lines say with `isSidechain` and `agentId` that they are a sub-agent's. A log and the files next to it are
then divided into conversations, which become runs. `Document.run` chooses one.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct

from ullage.agents.agent import first_line
from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.builder import PieceReader, SkippedLine, TranscriptBuilder, choose_run
from ullage.formats.transcripts.format import Records
from ullage.model.json_values import JsonObject, as_text
from ullage.model.message import Block, Role

# In place of messages that an agent has left out of the context without a summary.
LEFT_OUT = "[Older messages were left out here to make room.]"


class RecordReader:
    """Reads the records of one conversation (see `Reader`). A subclass sets in `_begin` what it keeps between records,
    reads a record in `_read`, and adds in `_flush` what it has held back. `agent` is the agent's name, if all
    conversations of the format are that agent's."""

    agent: ClassVar[str] = ""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        builder.agent = self.agent
        self._begin()

    def take(self, record: Line) -> None:
        """Reads the next record. A line that is no JSON object is listed as skipped."""
        if record.value is None:
            self._builder.skip_unread(record)
        else:
            self._read(record.value, record.number)

    def finish(self) -> None:
        """Adds what is still held back."""
        self._flush()

    def _add_outside(self, role: Role, content: Sequence[Block], message_id: str, timestamp: int) -> str:
        """Adds what was said and never came into the context, such as a summary that failed. Returns its id."""
        before = self._builder.tip
        added = self._builder.add(role, content, message_id, timestamp)
        self._builder.rewind(before, timestamp)
        return added

    def _begin(self) -> None:
        """Sets what is kept between records: nothing, if each is read by itself."""

    def _read(self, value: JsonObject, number: int) -> None:
        raise NotImplementedError

    def _flush(self) -> None:
        """Adds what is held back: nothing, if every record is complete."""


class PieceRecordReader(RecordReader):
    """Reads records that are pieces of messages. Those of a message are held back until another message begins."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        super().__init__(builder)
        self._pieces = PieceReader(builder)

    def _flush(self) -> None:
        self._pieces.end()


# Characters of a conversation's first prompt that name it in the list of conversations.
_TITLE = 60
# Types of the lines that are messages.
_MESSAGES = ("user", "assistant")


class _Conversation(Struct, frozen=True, kw_only=True):
    """The lines of one conversation. `file` is the name of the companion file that has them, empty if the log itself
    does."""

    lines: tuple[Line, ...]
    file: str = ""

    @property
    def messages(self) -> list[JsonObject]:
        return [line.value for line in self.lines if line.value and line.value.get("type") in _MESSAGES]


def conversation_records(document: Document, text_of: Callable[[JsonObject], str]) -> Records:
    """Returns the lines of one conversation of a log or of its sub-agents' files. The others are listed as skipped.

    `document.run` chooses it: 1 is the first conversation of the log, followed by the others of the log and those of
    the sub-agents' files. By default it is the main conversation or, if there is none, the longest. `text_of` returns
    the text of a message's line. Raises `InvalidRequest` if there is no such conversation.
    """
    own = _divide(document.lines)
    others = [
        _Conversation(lines=part.lines, file=companion.name)
        for companion in document.companions
        for part in _divide(companion.lines)
        if part.messages
    ]
    found = [*own, *others]
    if len(found) <= 1 and document.run is None:
        return Records(lines=document.lines)
    sizes = [len(conversation.messages) for conversation in found]
    is_main = bool(own) and not any(is_side(value) for value in own[0].messages)
    chosen = 0 if document.run is None and is_main else choose_run(sizes, document.run, document.name)
    skipped: list[SkippedLine] = []
    for index, conversation in enumerate(found):
        texts = (text_of(value) for value in conversation.messages)
        title = next((title[:_TITLE] for text in texts if (title := first_line(text))), "without text")
        where = f", {conversation.file}" if conversation.file else ""
        reason = f"another conversation: {title} (run {index + 1}, {sizes[index]} message lines{where})"
        if index != chosen:
            line = conversation.lines[0].number
            skipped.append(SkippedLine(line=line, reason=reason, expected=True, run=index + 1))
    return Records(lines=found[chosen].lines, skipped=tuple(skipped))


def is_side(value: JsonObject) -> bool:
    """Returns whether a line belongs to a sub-agent's conversation."""
    return value.get("isSidechain") is True


class SidechainReader(RecordReader):
    """Reads the lines of the main conversation of a file, or of a sub-agent's (`_is_side`, None if no line has shown
    which of the two it is yet)."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        super().__init__(builder)
        self._is_side: bool | None = None

    def starts_over(self, lines: Sequence[Line]) -> bool:
        """Returns whether with these further lines of the file its conversation may be another one; see `Format`."""
        values = [line.value for line in lines if line.value]
        agents = {as_text(value.get("agentId")) for value in values if is_side(value)}
        if self._is_side is False:
            # A main conversation stays the file's, whatever its sub-agents do.
            return bool(agents) and not self._builder.messages
        is_main = any(not is_side(value) for value in values if value.get("type") in _MESSAGES)
        if self._is_side:
            return is_main or not agents <= {self._builder.session_id}
        return bool(agents) and (is_main or agents != {""})

    def _read_facts(self, value: JsonObject) -> None:
        """Reads the folder, the version and the ids that each line has."""
        builder, session = self._builder, as_text(value.get("sessionId"))
        builder.cwd = builder.cwd or as_text(value.get("cwd"))
        builder.version = as_text(value.get("version")) or builder.version
        if self._is_side:
            builder.is_sub_agent = True
            builder.session_id = as_text(value.get("agentId")) or builder.session_id
            builder.parent = session or builder.parent
        else:
            builder.session_id = session or builder.session_id


def _divide(lines: Sequence[Line]) -> list[_Conversation]:
    """Returns the conversations among the lines: the main one, if there is one, then each sub-agent's."""
    main: list[Line] = []
    sides: dict[str, list[Line]] = {}
    roots: dict[str, str] = {}
    for line in lines:
        value = line.value or {}
        if not is_side(value):
            main.append(line)
            continue
        uuid = as_text(value.get("uuid"))
        roots[uuid] = roots.get(as_text(value.get("parentUuid")), uuid)
        sides.setdefault(as_text(value.get("agentId")) or roots[uuid], []).append(line)
    first = _Conversation(lines=tuple(main))
    return [*([first] if first.messages else []), *(_Conversation(lines=tuple(side)) for side in sides.values())]
