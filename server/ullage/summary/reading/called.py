"""Reads what each tool call shows together with its result: lines, files, and how it ended."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall, joined_call, patched_files, touches_of
from ullage.agents.calls_begun import Begun, begun_by
from ullage.agents.outcomes import said_in_refusal, was_refused
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
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.summary.checks import Check, checked
from ullage.summary.reading.contents import Seen, Source, held_by
from ullage.summary.reading.text_reader import CALL_LIMIT, Command, NameCounts, Reader

# Inputs that describe how a tool runs. Paths are left out because they are the name of the group.
_HOW_KEYS = ("description", "restart", "session_id")
# Text that an edit removes from a file is no longer in the file.
_NOT_QUOTED = (*PATH_KEYS, *COMMAND_KEYS, *PLAN_KEYS, *OLD_TEXT_KEYS, *_HOW_KEYS)
# Added to `order` between two texts of one message, so that their pieces don't count as neighbours.
_APART = 10
_NOTHING = NameCounts()
# Files of one patch that its name lists.
_MOST_PATCHED = 3
# No message has more calls. The order of their lines distinguishes the calls of one message.
_MOST_CALLS = 4_096


class Called(Struct, frozen=True, kw_only=True, gc=False):
    """What a call shows together with its result: its lines, the files it touches, what the user said in refusing it,
    whether it was run, and the work that it began."""

    index: int
    result_index: int
    command: Command
    seen: tuple[Seen, ...]
    touches: tuple[Touch, ...]
    refusal: str
    was_run: bool
    begun: Begun | None


def joined(
    reader: Reader, use: ToolUseBlock, index: int, result: ToolResultBlock | None, result_index: int
) -> ToolCall:
    """Returns what `joined_call` does, the same object for the same call."""
    return reader.joined((use.id, index), (use, index, result, result_index), _join)


def _join(use: ToolUseBlock, index: int, result: ToolResultBlock | None, result_index: int) -> tuple[ToolCall, int]:
    call = joined_call(use, index, result, result_index)
    return call, len(call.result) + held_by((use, result) if result else (use,))


def read_calls(calls: Iterable[ToolCall], reader: Reader, check: Check) -> Iterator[Called]:
    """Yields what each call shows together with its result."""
    read = partial(_read_call, reader, check)
    index, number = -1, 0
    for call in checked(calls, check):
        number = number + 1 if call.index == index else 0
        index = call.index
        # The result is in the key because another conversation has calls in the same places.
        yield reader.called_by((index, number, call.result), (call, number), read)


def _read_call(reader: Reader, check: Check, call: ToolCall, number: int) -> tuple[Called, int]:
    """Reads a call, which is the message's call of this number, and returns the characters of its lines as well."""
    seen = tuple(_seen(call, (call.index * _MOST_CALLS + number) * CALL_LIMIT, reader, check))
    called = Called(
        index=call.index,
        result_index=call.result_index,
        command=reader.command(call.command),
        seen=seen,
        touches=_touches(call, reader),
        refusal=said_in_refusal(call.result),
        was_run=not was_refused(call.result),
        begun=begun_by(call),
    )
    return called, len(call.result) + sum(map(len, strings_in(call.input)))


def _seen(call: ToolCall, order: int, reader: Reader, check: Check) -> Iterator[Seen]:
    """Yields the lines of the texts in a call's input, then those of its result. `order` is that of the first line."""
    # The first line of a command is clean already.
    group = group_of(call, reader) if call.command else reader.clean(group_of(call, reader))
    for text in checked(texts_written(call.command, call.input), check):
        written = reader.written(text, group)
        yield Seen(
            lines=written.lines,
            index=call.index,
            order=order,
            source=Source.CALL,
            group=group,
            texts=written.texts,
            names=written.names,
            counts=written.counts,
        )
        order += len(written.lines.listing.lines) + _APART
    if call.result:
        check()
        lines = reader.shown(call.result)
        yield Seen(
            lines=lines,
            index=call.result_index,
            order=order,
            source=Source.RESULT,
            group=group,
            texts=lines.listing.texts,
            names=lines.names,
            counts=lines.counts,
        )


def unread(seen: Seen) -> Seen:
    """Returns the lines of a result unchanged, and those of a call without pieces, as of one that is not among the
    messages that are read."""
    return replace(seen, texts=(), names=(), counts=_NOTHING) if seen.source is Source.CALL else seen


def _touches(call: ToolCall, reader: Reader) -> tuple[Touch, ...]:
    touches = touches_of(call, lambda line: reader.command(line).touches)
    return tuple((reader.clean(path), action) for path, action in touches)


def texts_written(command: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yields the texts that the agent wrote as a call's input `given`: the command, or else all strings except paths,
    to-do lists, removed text and the like."""
    if command:
        yield without_cd(command)[0]
        return
    for key, value in given.items():
        if not has_key(key, _NOT_QUOTED):
            yield from strings_in(value)


def group_of(call: ToolCall, reader: Reader) -> str:
    """Returns a short name for the subject of a call: the files of its patch, else the first line of its command, else
    its file, else the tool's name with the query or address."""
    if patched := patched_files(call):
        return reader.clean(f"patch of {', '.join(patched[:_MOST_PATCHED])}")
    if call.command:
        return "$ " + reader.command(call.command).first
    return call.path or f"{call.name} {_subject(call, reader)}".strip()


def _subject(call: ToolCall, reader: Reader) -> str:
    """Returns the subject of a call that names no file: the first line of its address, query or pattern, at most 80
    characters."""
    return reader.clean(text_of(call.input, SUBJECT_KEYS).split("\n", 1)[0])[:80]
