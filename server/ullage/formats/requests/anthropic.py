"""Writes messages as a request to Anthropic's Messages API."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ullage.formats.requests.turns import arrange_turns, legal_name, writable
from ullage.formats.transcripts.chat import NAMELESS
from ullage.formats.verbatim import add_provided
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)

FORMAT = "anthropic"


class AnthropicRequest(Struct, frozen=True, kw_only=True):
    """What follows from the conversation of a request to Anthropic's Messages API. `system` may be None."""

    system: str | list[dict[str, Any]] | None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_anthropic(
    messages: Sequence[Message], tools: Sequence[ToolDefinition] = (), *, as_given: bool = False
) -> AnthropicRequest:
    """Returns a request that keeps Anthropic's rules for any view of a transcript (`requests/turns.py`): roles
    alternate, each tool use is answered at once, ids are legal. With `as_given`,
    messages that a program gave in this format stay as they are. Without messages the list of messages is empty."""
    conversation = arrange_turns(messages, FORMAT, thinking=True, as_given=as_given)
    written: list[dict[str, Any]] = []
    for turn in conversation.turns:
        content = [write_block(block) for block in turn.content] if turn.given is None else []
        written.extend([{"role": turn.role.value, "content": content}] if turn.given is None else turn.given)
    return AnthropicRequest(
        system=conversation.prompt or None, messages=written, tools=[_write_tool(tool) for tool in tools]
    )


def write_messages(message: Message) -> list[dict[str, Any]]:
    """Returns the given message as Anthropic's API has it, in a list. No rules of a whole request are applied."""
    kept = (TextBlock, ImageBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock)
    return [{"role": message.role.value, "content": list(map(write_block, writable(message, kept, FORMAT)))}]


def write_block(block: Block) -> dict[str, Any]:
    """Returns a content block as Anthropic's API has it, with the fields that were kept when it was read."""
    return add_provided(write_own_fields(block), None if isinstance(block, CompactionBlock) else block.provided, FORMAT)


def write_own_fields(block: Block) -> dict[str, Any]:  # noqa: PLR0911
    """Returns a content block in the shape of Anthropic's API, from Ullage's fields alone. Returns an empty object for
    kinds of blocks that have no such shape (resources that are no documents, markers)."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            base64 = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": base64 if block.url is None else {"type": "url", "url": block.url}}
        case ThinkingBlock(redacted=str(data)) if data:
            return {"type": "redacted_thinking", "data": data}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        case ToolUseBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ToolResultBlock():
            return _write_result(block)
        case ResourceBlock(data=str(data)) if block.is_document:
            source = {"type": "base64", "media_type": block.mime_type, "data": data}
            return {"type": "document", "source": source} | ({} if block.uri == NAMELESS else {"title": block.name})
        case _:
            # Another resource: the format writes its own as it came, any other is text by now.
            return {}


def _write_result(block: ToolResultBlock) -> dict[str, Any]:
    written: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if block.content:
        written["content"] = [write_block(part) for part in block.content]
    if block.is_error:
        written["is_error"] = True
    return written


def _write_tool(tool: ToolDefinition) -> dict[str, Any]:
    # Anthropic refuses a schema whose type isn't given as an object.
    schema = {"type": "object", **tool.input_schema}
    written = {"name": legal_name(tool.name), "description": tool.description, "input_schema": schema}
    return add_provided(written, tool.provided, FORMAT)
