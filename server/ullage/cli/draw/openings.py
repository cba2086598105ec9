"""Describes each message of a conversation in one line: what it says, calls or returns."""

from collections.abc import Iterable, Iterator
from typing import cast

from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.message import Message

# Characters of a line; no terminal shows more.
_LONGEST = 300
# The last components of a path, by which it differs from others.
_FOLDERS = 3
_THINKING = "(thinking)"


class Openings:
    """Describes messages in one line each. The messages must be passed in order, because a tool result is named after
    its call.

    Paths in the folder `cwd` are shown without that folder.
    """

    def __init__(self, cwd: str = "") -> None:
        self._calls: dict[str, str] = {}
        self._cwd = cwd.rstrip("/") + "/" if cwd.strip("/") else ""

    def describe(self, message: Message) -> str:
        """Returns one line about the message, at most 300 characters: the first line of its text, its tool calls, or
        which call it is the result of. Of several results each is named, without its text."""
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        if len(results) > 1:
            parts = [self._named(block) for block in results]
        else:
            parts = [part for block in message.content if (part := self._describe(block))]
        return " · ".join(_merged(parts))[:_LONGEST]

    def _named(self, result: ToolResultBlock) -> str:
        failed = " (failed)" if result.is_error else ""
        return self._calls.get(result.tool_use_id, "tool") + failed

    def _describe(self, block: Block) -> str:
        match block:
            case TextBlock(text=text):
                words = first_line(text)
            case ToolUseBlock(id=call_id, name=name, input=arguments):
                self._calls[call_id] = f"{name} {self._short(_main_argument(arguments))}".strip()
                words = f"→ {self._calls[call_id]}"
            case ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error):
                failed = "failed: " if is_error else ""
                text = next((first_line(part.text) for part in content if isinstance(part, TextBlock)), "")
                words = f"{self._calls.get(call_id, 'tool')}: {failed}{text}"
            case ThinkingBlock():
                words = _THINKING
            case ImageBlock():
                words = "(picture)"
            case ResourceBlock():
                words = block.title
            case CompactionBlock(compaction_number=number, messages_archived=messages):
                words = f"Compaction {number}: a summary of {messages:,} messages"
        return words

    def _short(self, argument: str) -> str:
        """Returns a path without its beginning, because a narrow terminal would show only that. Returns an argument
        that is not a long path unchanged."""
        argument = argument.removeprefix(self._cwd)
        folders = argument.split("/")
        if len(folders) > _FOLDERS and " " not in argument:
            return "…/" + "/".join(folders[-_FOLDERS:])
        return argument


def first_line(text: str) -> str:
    """Returns the first line of a text that is not blank, without spaces around it, or "" if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _main_argument(arguments: dict[str, object]) -> str:
    """Returns the first line of a tool call's first text argument, which describes best what the call is about. A list
    of words, such as a command, counts as text."""
    return first_line(next((text for value in arguments.values() if (text := _as_text(value))), ""))


def _as_text(value: object) -> str:
    if isinstance(value, list):
        words = [word for word in cast("list[object]", value) if isinstance(word, str)]
        return words[-1] if words[1:2] in (["-c"], ["-lc"]) else " ".join(words)
    return value if isinstance(value, str) else ""


def _merged(parts: Iterable[str]) -> Iterator[str]:
    """Yields the descriptions of a message's blocks, without "(thinking)" if there is another description."""
    known = list(parts)
    spoken = [part for part in known if part != _THINKING]
    yield from spoken or known[:1]
