"""Finds tool results: blocks of their own or, for agents without function calling, plain text.

Such an agent ends its text with one command in a fenced code block, and the next message is the command's output.
"""

import json
import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from ullage.agents.tools import Action, canonical_name
from ullage.model.message import (
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_and_resources,
)

# The tool name that is given to a command in a fenced code block.
FENCED = canonical_name(Action.RUN)
FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n(.*?)(?:\n```|$(?![\s\S]))", re.DOTALL)
_OBSERVATION = re.compile(
    r"\s*(?:<returncode>|<output>|OBSERVATION|EXECUTION RESULT|Observation:|The last command <command>)"
    r"|.*\((?:Open file|Current directory):|.*bash-\$\s*$",
    re.DOTALL,
)


# What a command prints with which mini-swe-agent hands in its work. The output is the work, without a frame.
_HANDS_IN = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_COMMAND_WITHIN = 20_000


# What Gemini CLI and Qwen Code put before the output of a command: the command, its folder, and a label.
_LABELLED = re.compile(
    r"\A(?:<untrusted_context>\s{0,4})?(?:Command: (?s:.{0,20000}?)\nDirectory: [^\n]{0,1000}\n)?Output: (?=\S)"
)


class ToolResult(Struct, frozen=True, kw_only=True):
    """A tool result in a list of messages.

    `position` is the index of its message, `block` the index of its block there. `tool` is the tool's name, empty if
    the transcript lacks the tool use. `tool_use_id` is empty for the output of a fenced command. `pictures` is true if
    the result contains images or documents, which `text` leaves out.
    """

    position: int
    message_id: str
    block: int
    tool: str
    tool_use_id: str
    text: str
    pictures: bool = False


class _About(Struct, frozen=True):
    exit_code: int = 0


class _Envelope(Struct, frozen=True):
    output: str
    metadata: _About | None = None
    exit_code: int | None = None
    error: str | None = None


def printed(text: str) -> str:
    """Returns what a tool printed, from the text of its result. Codex before 0.58 put the output of a command into a
    JSON object with the exit code, and so does Hermes Agent; of such a text, returns the output, after a line with the
    exit code if that is not 0. Of what Gemini CLI and Qwen Code write around an output, what is before it is left out.
    Any other text is returned as it is."""
    if not text.startswith('{"output":'):
        return _LABELLED.sub("", text) if text.startswith(("Output: ", "Command: ", "<untrusted_context>")) else text
    try:
        envelope = msgspec.convert(_decoded(text), _Envelope)
    except (msgspec.ValidationError, ValueError):
        return text
    code = envelope.metadata.exit_code if envelope.metadata else envelope.exit_code
    if code is None:
        return text
    output = "\n".join(filter(None, (envelope.output, envelope.error)))
    return f"Exit code {code}\n{output}" if code else output


def _decoded(text: str) -> object:
    """Returns what a JSON text holds. Where a result was shortened, line breaks are in the middle of a string, which
    only the slower decoder allows. Raises ValueError if it is no JSON all the same."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text, strict=False)


def tool_uses(messages: Sequence[Message]) -> Iterator[ToolUseBlock]:
    """Yields every tool use block of the messages, in order."""
    return (block for message in messages for block in message.content if isinstance(block, ToolUseBlock))


def tool_results(messages: Sequence[Message]) -> Iterator[ToolResult]:
    """Yields every tool result of the messages, in order: result blocks, and the outputs of commands in fenced code
    blocks."""
    tools = {block.id: block.name for block in tool_uses(messages)}
    for position, message in enumerate(messages):
        fenced = position > 0 and bool(fenced_command(messages, position - 1))
        for i, block in enumerate(message.content):
            if isinstance(block, ToolResultBlock):
                yield ToolResult(
                    position=position,
                    message_id=message.id,
                    block=i,
                    tool=tools.get(block.tool_use_id, ""),
                    tool_use_id=block.tool_use_id,
                    text=text_and_resources(block.content),
                    pictures=any(
                        isinstance(part, ImageBlock) or (isinstance(part, ResourceBlock) and bool(part.data))
                        for part in block.content
                    ),
                )
            elif fenced and isinstance(block, TextBlock):
                yield ToolResult(
                    position=position, message_id=message.id, block=i, tool=FENCED, tool_use_id="", text=block.text
                )


def fenced_command(messages: Sequence[Message], position: int) -> str:
    """Returns the command in the fenced code block that ends the message at `position`, if the next message is the
    command's output. Otherwise returns an empty string."""
    message = messages[position]
    if message.role is not Role.ASSISTANT or position + 1 >= len(messages):
        return ""
    said = message.text[-_COMMAND_WITHIN:].rstrip()
    if not said.endswith("```"):
        return ""
    following = messages[position + 1]
    output = following.text if following.role is Role.USER else ""
    if not output or not (is_output(output) or _HANDS_IN in said):
        return ""
    fences = list(FENCE.finditer(said))
    return fences[-1][1].strip() if fences else ""


def is_output(text: str) -> bool:
    """Returns whether a text looks like the output of a command in a fenced code block."""
    return _OBSERVATION.match(text[:400] + "\n" + text[-200:]) is not None
