"""Tool results: what tools returned, in blocks of their own or, for agents without function calling, as text.

Such an agent puts one command in a fence at the end of its text, and the next message is the command's output.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.tools import Action, canonical_name
from ullage.model.blocks import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.message import Message, Role

# What a command in a fence is called where tools have names.
FENCED = canonical_name(Action.RUN)
FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n(.*?)(?:\n```|$(?![\s\S]))", re.DOTALL)
_OBSERVATION = re.compile(
    r"\s*(?:<returncode>|<output>|OBSERVATION|EXECUTION RESULT|Observation:)"
    r"|.*\((?:Open file|Current directory):|.*bash-\$\s*$",
    re.DOTALL,
)


class ToolResult(Struct, frozen=True, kw_only=True):
    """A result: its message's place and id, its block, the tool's name (empty if its use is not there) and its text.
    `pictures` says that it holds something else, which its text does not tell. `tool_use_id` is empty for a fence."""

    position: int
    message_id: str
    block: int
    tool: str
    tool_use_id: str
    text: str
    pictures: bool = False


def tool_uses(messages: Sequence[Message]) -> Iterator[ToolUseBlock]:
    """Every call, in order."""
    return (block for message in messages for block in message.content if isinstance(block, ToolUseBlock))


def tool_results(messages: Sequence[Message]) -> Iterator[ToolResult]:
    """Every result, in order."""
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
                    pictures=any(isinstance(part, ImageBlock) for part in block.content),
                )
            elif fenced and isinstance(block, TextBlock):
                yield ToolResult(
                    position=position, message_id=message.id, block=i, tool=FENCED, tool_use_id="", text=block.text
                )


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
