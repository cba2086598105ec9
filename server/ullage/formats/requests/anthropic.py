"""Writes messages as a request to Anthropic's Messages API."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ullage.formats.requests.legal_blocks import legal_name
from ullage.formats.requests.turns import arrange_turns
from ullage.model.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, ToolDefinition


class AnthropicRequest(Struct, frozen=True, kw_only=True):
    """The parts of a request that the conversation determines. `system` is None without a system prompt."""

    system: str | None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_anthropic(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> AnthropicRequest:
    """Writes any view of a transcript as a request that keeps Anthropic's rules (`requests/turns.py`).

    Without messages the request has no turns.
    """
    conversation = arrange_turns(messages, thinking=True)
    return AnthropicRequest(
        system=conversation.system or None,
        messages=[
            {"role": turn.role.value, "content": [_write_block(block) for block in turn.content]}
            for turn in conversation.turns
        ],
        tools=[_write_tool(tool) for tool in tools],
    )


def _write_block(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return {"type": "image", "source": _write_source(block)}
        case ThinkingBlock():
            if block.redacted:
                return {"type": "redacted_thinking", "data": block.redacted}
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        case ToolUseBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ToolResultBlock():
            return _write_result(block)
        case _:
            raise AssertionError(f"a turn holds a {type(block).__name__}")


def _write_result(block: ToolResultBlock) -> dict[str, Any]:
    written: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if block.content:
        written["content"] = [_write_block(part) for part in block.content]
    if block.is_error:
        written["is_error"] = True
    return written


def _write_source(block: ImageBlock) -> dict[str, Any]:
    if block.url is not None:
        return {"type": "url", "url": block.url}
    return {"type": "base64", "media_type": block.media_type, "data": block.data}


def _write_tool(tool: ToolDefinition) -> dict[str, Any]:
    # Anthropic refuses a schema whose type isn't given as an object.
    schema = {"type": "object", **tool.input_schema}
    return {"name": legal_name(tool.name), "description": tool.description, "input_schema": schema}
