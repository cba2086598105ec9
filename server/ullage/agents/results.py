"""Tool results: what tools returned, in blocks of their own or, for agents without function calling, as text."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.commands import fenced_command
from ullage.model.blocks import ImageBlock, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message

# What a command in a fence is called where tools have names.
FENCED = "bash"


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
                    text=result_text(block),
                    pictures=any(isinstance(part, ImageBlock) for part in block.content),
                )
            elif fenced and isinstance(block, TextBlock):
                yield ToolResult(
                    position=position, message_id=message.id, block=i, tool=FENCED, tool_use_id="", text=block.text
                )


def result_text(block: ToolResultBlock) -> str:
    """What a result says: its texts, and those of resources in it."""
    return "\n".join(part.text or "" for part in block.content if isinstance(part, TextBlock | ResourceBlock))
