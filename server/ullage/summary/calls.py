"""Tool calls with their results, the same for every agent: native tool use, or commands in fenced text."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import as_list
from ullage.model.message import Message, Role

# Agents without function calling put one command at the end of their text; the next message is its output.
FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n(.*?)(?:\n```|$(?![\s\S]))", re.DOTALL)
_OBSERVATION = re.compile(
    r"\s*(?:<returncode>|<output>|OBSERVATION|EXECUTION RESULT|Observation:)"
    r"|.*\((?:Open file|Current directory):|.*bash-\$\s*$",
    re.DOTALL,
)
_SHELL_NAMES = re.compile(
    r"(?:bash|shell|execute_bash|terminal|run_(?:shell_)?command|run_terminal_cmd|exec(?:_command)?|execute_command"
    r"|local_shell(?:_call)?|container\.exec|run|cmd)$",
    re.IGNORECASE,
)
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


def shell_command(name: str, arguments: dict[str, Any]) -> str:
    """The command line among a tool's arguments, whatever the agent calls it."""
    if not _SHELL_NAMES.match(name):
        return ""
    value: Any = arguments.get("command") or arguments.get("cmd") or arguments.get("script") or ""
    if isinstance(value, list):
        words = [str(word) for word in as_list(cast("Any", value))]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return value if isinstance(value, str) else ""


def fenced_command(messages: Sequence[Message], position: int) -> str:
    """The command in the text at `position` when the next message is its output; empty otherwise."""
    message = messages[position]
    if message.role is not Role.ASSISTANT or position + 1 >= len(messages):
        return ""
    following = messages[position + 1]
    if following.role is not Role.USER or not _OBSERVATION.match(following.text[:400] + "\n" + following.text[-200:]):
        return ""
    fences = list(FENCE.finditer(message.text[-20_000:].rstrip()))
    return fences[-1][1].strip() if fences and message.text.rstrip().endswith("```") else ""


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
