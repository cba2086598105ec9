"""A digest of messages: who said what, in excerpts short enough to quote, and the tool calls. Messages are read
once."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.agents.calls import ToolCall, tool_calls, touches_of
from ullage.agents.inserted import is_summary, is_typed, without_inserted
from ullage.agents.results import fenced_command
from ullage.agents.shell import Touch, without_cd
from ullage.agents.tools import (
    COMMAND_KEYS,
    OLD_TEXT_KEYS,
    PATH_KEYS,
    PLAN_KEYS,
    SUBJECT_KEYS,
    has_key,
    strings_in,
    text_of,
)
from ullage.model.artifacts import Outcome
from ullage.model.blocks import ResourceBlock, TextBlock, ThinkingBlock
from ullage.model.message import Message, Role
from ullage.summary.checks import Check, checked, go_on
from ullage.summary.reading.excerpts import GAP
from ullage.summary.reading.reader import CALL_LIMIT, Piece, Reader

_REQUEST_LIMIT = 24_000
# Characters. Shorter inputs are switches and single words.
_SHORTEST = 16
# Inputs that describe how a tool runs. Paths are left out because they are the name of the group.
_HOW_KEYS = ("description", "restart", "session_id")
# Text that an edit removes from a file is no longer in the file.
_NOT_QUOTED = (*PATH_KEYS, *COMMAND_KEYS, *PLAN_KEYS, *OLD_TEXT_KEYS, *_HOW_KEYS)
# Added to `order` between two texts of one message, so that their pieces don't count as neighbours.
_APART = 10


class Source(StrEnum):
    """The origin of an excerpt."""

    AGENT = "agent"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"


class Excerpt(Struct, frozen=True, kw_only=True):
    """A piece of a message. `order` is its place among the message's pieces. `group` is the file or command it was
    seen in, empty for what the agent said."""

    text: str
    index: int
    order: int = 0
    source: Source
    anchors: tuple[str, ...]
    group: str = ""


class UserRequest(Struct, frozen=True, kw_only=True):
    """What the user wrote, verbatim except for secrets. `kept` is true if the message stays in the context."""

    text: str
    index: int
    kept: bool


class Run(Struct, frozen=True, kw_only=True):
    """One shell command: its text as shown, its outcome, and the most telling line of its output. `looks` is true if
    it only shows something and changes nothing."""

    command: str
    index: int
    outcome: Outcome
    detail: str
    is_test: bool
    looks: bool


class Digest(Struct, frozen=True, kw_only=True):
    """Everything read from some messages. Indexes are places in the transcript. `kept` are the pieces of messages
    that stay verbatim, `excerpts` those of all others. `touches` says, for each of `calls`, what it does to which
    files."""

    first_index: int
    end_index: int
    requests: tuple[UserRequest, ...]
    excerpts: tuple[Excerpt, ...]
    kept: tuple[Excerpt, ...]
    calls: tuple[ToolCall, ...]
    touches: tuple[tuple[Touch, ...], ...]
    runs: tuple[Run, ...]


def read_messages(
    messages: Sequence[Message],
    indices: Sequence[int],
    reader: Reader,
    kept: Sequence[str] = (),
    check: Check = go_on,
) -> Digest:
    """Reads messages in one pass and returns their digest. Texts are redacted. `kept` are ids of messages that stay
    verbatim. `check` is called at every text; its exception ends the work."""
    calls = tool_calls(messages, indices)
    stays = frozenset(kept)
    spoken = _spoken(checked(messages, check), indices, reader)
    called = [piece for number, call in enumerate(calls) for piece in _of_call(call, number, reader, check)]
    pieces = sorted((*spoken, *called), key=lambda piece: piece.index)
    staying = {index for message, index in zip(messages, indices, strict=True) if message.id in stays}
    return Digest(
        first_index=indices[0] if indices else 0,
        end_index=indices[-1] + 1 if indices else 0,
        requests=tuple(_requests(messages, indices, stays, reader, check)),
        excerpts=tuple(piece for piece in pieces if piece.index not in staying),
        kept=tuple(piece for piece in pieces if piece.index in staying),
        calls=tuple(calls),
        touches=tuple(_touches(call, reader) for call in checked(calls, check)),
        runs=tuple(_runs(checked(calls, check), reader)),
    )


def _requests(
    messages: Sequence[Message], indices: Sequence[int], stays: frozenset[str], reader: Reader, check: Check
) -> Iterator[UserRequest]:
    for position, message in enumerate(checked(messages, check)):
        if message.role is not Role.USER or message.compaction or _is_output(messages, position):
            continue
        text = typed_text(message)
        if text and not is_summary(text):
            yield UserRequest(text=reader.clean(_bounded(text)), index=indices[position], kept=message.id in stays)


def typed_text(message: Message) -> str:
    """Returns the text that the user typed, without text that editors and agents inserted. Empty if the user typed
    nothing."""
    texts = [without_inserted(_bounded(block.text)) for block in message.content if isinstance(block, TextBlock)]
    linked = [block.uri for block in message.content if isinstance(block, ResourceBlock)]
    return "\n".join([text.strip() for text in texts if text.strip() and is_typed(text)] + linked)


def _bounded(text: str) -> str:
    if len(text) <= _REQUEST_LIMIT:
        return text
    return text[: _REQUEST_LIMIT // 2] + GAP + text[-_REQUEST_LIMIT // 2 :]


def _is_output(messages: Sequence[Message], position: int) -> bool:
    return position > 0 and bool(fenced_command(messages, position - 1))


def _spoken(messages: Iterable[Message], indices: Sequence[int], reader: Reader) -> Iterator[Excerpt]:
    for position, message in enumerate(messages):
        index = indices[position]
        if message.role is Role.ASSISTANT:
            for block in message.content:
                if isinstance(block, TextBlock):
                    yield from _numbered(reader.said(block.text), index, Source.AGENT)
                elif isinstance(block, ThinkingBlock):
                    yield from _numbered(reader.said(block.thinking), index, Source.THINKING)
        elif message.role is Role.USER and is_summary(message.text):
            yield from _numbered(reader.said(message.text), index, Source.AGENT)


def _of_call(call: ToolCall, number: int, reader: Reader, check: Check) -> Iterator[Excerpt]:
    """Yields the pieces of a call and of its result. `number` is the call's number among all calls; the pieces'
    `order` keeps calls apart."""
    group = reader.clean(group_of(call, reader))
    first = order = number * CALL_LIMIT
    for text in checked(_written(call), check):
        pieces = reader.called(text)
        for piece in _numbered(pieces, call.index, Source.CALL, group, order + 1):
            if len(piece.text) >= _SHORTEST and piece.text not in group:
                yield piece
        order += len(pieces) + _APART
    check()
    if call.result:
        yield from _numbered(reader.shown(call.result), call.result_index, Source.RESULT, group, first)


def _numbered(
    pieces: Iterable[Piece], index: int, source: Source, group: str = "", first: int = 0
) -> Iterator[Excerpt]:
    for order, piece in enumerate(pieces, start=first):
        yield Excerpt(text=piece.text, index=index, order=order, source=source, group=group, anchors=piece.anchors)


def _runs(calls: Iterable[ToolCall], reader: Reader) -> Iterator[Run]:
    """Yields the shell commands among the calls, in order."""
    for call in calls:
        command = reader.command(call.command)
        if command.shown:
            outcome, detail = reader.end(call.result, call.failed)
            yield Run(
                command=command.shown,
                index=call.index,
                outcome=outcome,
                detail=detail,
                is_test=command.is_test,
                looks=command.looks,
            )


def _touches(call: ToolCall, reader: Reader) -> tuple[Touch, ...]:
    touches = touches_of(call, lambda line: reader.command(line).touches)
    return tuple((reader.clean(path), action) for path, action in touches)


def _written(call: ToolCall) -> Iterator[str]:
    """Yields the texts that the agent wrote as a call's input."""
    if call.command:
        yield without_cd(call.command)[0]
        return
    for key, value in call.input.items():
        if not has_key(key, _NOT_QUOTED):
            yield from strings_in(value)


def group_of(call: ToolCall, reader: Reader) -> str:
    """Returns a short name for a call's subject: its file, or the first line of its command."""
    if call.command:
        return "$ " + reader.command(call.command).first
    return call.path or f"{call.name} {_subject(call, reader)}".strip()


def _subject(call: ToolCall, reader: Reader) -> str:
    """Returns the subject of a call without a file: the address, query or pattern that it was given."""
    return reader.clean(text_of(call.input, SUBJECT_KEYS).split("\n", 1)[0])[:80]
