"""Tool calls with their results, the same for every agent: native tool use, or commands in fenced text."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ullage.agents.commands import fenced_command, shell_command
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message

_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file", "target_file", "absolute_path", "filepath")


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call and what came of it. `index` is the call's message, `failed` what the tool reported (None: nothing)."""

    index: int
    name: str
    input: dict[str, Any]
    result: str = ""
    result_index: int = -1
    failed: bool | None = None

    @property
    def command(self) -> str:
        """The shell command this call runs; empty when it runs none."""
        return shell_command(self.name, self.input)

    @property
    def path(self) -> str:
        """The file this call is about, as its input names it; empty when none."""
        return next((value for key in _PATH_KEYS if isinstance(value := self.input.get(key), str) and value), "")


def tool_calls(messages: Sequence[Message], indices: Sequence[int]) -> list[ToolCall]:
    """Every call in `messages` in order, each joined with its result; `indices` are the messages' places."""
    results = _results(messages, indices)
    calls: list[ToolCall] = []
    for position, message in enumerate(messages):
        calls.extend(_native(message, indices[position], results))
        command = fenced_command(messages, position)
        if command:
            calls.append(_fenced(command, indices[position], messages[position + 1].text))
    return calls


def result_text(block: ToolResultBlock) -> str:
    """The text parts of a tool result."""
    return "\n".join(part.text for part in block.content if isinstance(part, TextBlock))


def _results(messages: Sequence[Message], indices: Sequence[int]) -> dict[str, tuple[int, ToolResultBlock]]:
    return {
        block.tool_use_id: (indices[position], block)
        for position, message in enumerate(messages)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }


def _native(message: Message, index: int, results: dict[str, tuple[int, ToolResultBlock]]) -> Iterator[ToolCall]:
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            at, result = results.get(block.id, (-1, None))
            yield ToolCall(
                index=index,
                name=block.name,
                input=block.input,
                result=result_text(result) if result else "",
                result_index=at,
                failed=True if result and result.is_error else None,
            )


def _fenced(command: str, index: int, output: str) -> ToolCall:
    return ToolCall(index=index, name="bash", input={"command": command}, result=output, result_index=index + 1)
