"""Writes messages as a request to OpenAI's Chat Completions API."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ullage.formats.parsing import to_json
from ullage.formats.requests.legal_blocks import image_url, legal_name
from ullage.formats.requests.turns import Turn, arrange_turns
from ullage.model.blocks import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.message import Message, Role, ToolDefinition


class OpenAIRequest(Struct, frozen=True, kw_only=True):
    """The parts of a request that the conversation determines. The system prompt is the first message."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_openai(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> OpenAIRequest:
    """Writes any view of a transcript as a request that keeps OpenAI's rules (`requests/turns.py`).

    Thinking and a result's error flag are left out, because this API has no field for them.
    """
    conversation = arrange_turns(messages, thinking=False)
    written: list[dict[str, Any]] = []
    if conversation.system:
        written.append({"role": "system", "content": conversation.system})
    for turn in conversation.turns:
        written.extend(_write_user(turn) if turn.role is Role.USER else [_write_assistant(turn)])
    return OpenAIRequest(messages=written, tools=[_write_tool(tool) for tool in tools])


def _write_assistant(turn: Turn) -> dict[str, Any]:
    text = join_texts(turn.content)
    calls = [_write_call(block) for block in turn.content if isinstance(block, ToolUseBlock)]
    written: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        written["tool_calls"] = calls
    return written


def _write_call(block: ToolUseBlock) -> dict[str, Any]:
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": to_json(block.input)},
    }


def _write_user(turn: Turn) -> list[dict[str, Any]]:
    """Returns one tool message for each result, then a user message with the turn's other content.

    A result's images go into the user message, because a tool message can't contain images.
    """
    results = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    written: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.tool_use_id, "content": join_texts(result.content)}
        for result in results
    ]
    parts = [part for result in results for part in _write_result_images(result)]
    parts.extend(_write_part(block) for block in turn.content if isinstance(block, TextBlock | ImageBlock))
    if parts:
        alone = parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else None
        written.append({"role": "user", "content": alone if alone is not None else parts})
    return written


def _write_result_images(result: ToolResultBlock) -> list[dict[str, Any]]:
    images = [block for block in result.content if isinstance(block, ImageBlock)]
    if not images:
        return []
    label = TextBlock(text=f"[Images that tool call {result.tool_use_id} returned:]")
    return [_write_part(block) for block in (label, *images)]


def _write_part(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": image_url(block)}}


def _write_tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": legal_name(tool.name),
        "description": tool.description,
        "parameters": {"type": "object", **tool.input_schema},
    }
    return {"type": "function", "function": function}
