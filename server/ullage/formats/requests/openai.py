"""Writes messages as a request to OpenAI's Chat Completions API."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from msgspec import Struct

from ullage.formats.requests.turns import Turn, arrange_turns, legal_name, writable
from ullage.formats.transcripts.chat import image_url, write_arguments, write_file
from ullage.formats.verbatim import add_provided, provided_for
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)

FORMAT = "openai"
# The API's first way to call functions: one call in an answer, one message with its result, no ids.
LEGACY_CALL, LEGACY_RESULT = "function_call", "function"


class OpenAIRequest(Struct, frozen=True, kw_only=True):
    """The fields of a request to OpenAI's Chat Completions API that follow from the conversation. The system prompt is
    the first message."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_openai(
    messages: Sequence[Message], tools: Sequence[ToolDefinition] = (), *, as_given: bool = False
) -> OpenAIRequest:
    """Returns a request that keeps OpenAI's rules for any view of a transcript (`requests/turns.py`): each tool call is
    answered at once, ids are legal. With `as_given`, messages that a program gave in this format stay as they are.

    Thinking and a result's error flag are left out, because this API has no field for them.
    """
    conversation = arrange_turns(messages, FORMAT, thinking=False, as_given=as_given)
    written: list[dict[str, Any]] = []
    if conversation.prompts:
        written.append({"role": "system", "content": conversation.prompt})
    for turn in conversation.turns:
        written.extend(_write_turn(turn))
    return OpenAIRequest(messages=written, tools=[_write_tool(tool) for tool in tools])


def write_messages(message: Message) -> list[dict[str, Any]]:
    """Returns one message in the shape of the Chat Completions API. Tool results become messages of their own. No rules
    of a whole request are applied."""
    blocks = tuple(writable(message, (TextBlock, ImageBlock, ToolUseBlock, ToolResultBlock), FORMAT))
    return _write_turn(Turn(role=message.role, content=blocks)) or [{"role": message.role.value, "content": ""}]


def _write_turn(turn: Turn) -> list[dict[str, Any]]:
    if turn.given is not None:
        return list(turn.given)
    match turn.role:
        case Role.USER:
            return _write_user(turn)
        case Role.ASSISTANT:
            return [_write_assistant(turn)]
        case Role.SYSTEM:
            return [{"role": "system", "content": join_texts(turn.content)}]


def _write_assistant(turn: Turn) -> dict[str, Any]:
    text = join_texts(turn.content)
    written: dict[str, Any] = {"role": "assistant", "content": text or None}
    calls: list[dict[str, Any]] = []
    for block in turn.content:
        if isinstance(block, ToolUseBlock):
            call = write_call(block)
            if LEGACY_CALL in call:
                written |= call
            else:
                calls.append({**call, "id": block.id})
    if calls:
        written["tool_calls"] = calls
    return written


def write_call(block: ToolUseBlock) -> dict[str, Any]:
    """Returns a tool call in the shape of the Chat Completions API."""
    function = {"name": block.name, "arguments": write_arguments(block.input)}
    return add_provided({"id": block.id, "type": "function", "function": function}, block.provided, FORMAT)


def write_result(block: ToolResultBlock) -> dict[str, Any]:
    """Returns a tool result in the shape of the Chat Completions API: a message of its own."""
    written = {"role": "tool", "tool_call_id": block.tool_use_id, "content": join_texts(block.content)}
    provided = provided_for(block.provided, FORMAT)
    if provided and provided.fields.get("role") == LEGACY_RESULT:
        del written["tool_call_id"]
    return written if provided is None else {**written, **provided.fields}


def _write_user(turn: Turn) -> list[dict[str, Any]]:
    """Returns one tool message for each tool result of the turn, then a user message with the turn's other content, if
    any.

    A result's images and documents go into the user message, because a tool message can't contain them.
    """
    results = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    written = [write_result(result) for result in results]
    parts = [part for result in results for part in _write_result_files(result)]
    parts.extend(write_part(block) for block in turn.content if is_part(block))
    if parts:
        alone = parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else None
        written.append({"role": "user", "content": alone if alone is not None else parts})
    return written


def _write_result_files(result: ToolResultBlock) -> list[dict[str, Any]]:
    files = [block for block in result.content if is_part(block) and not isinstance(block, TextBlock)]
    if not files:
        return []
    what = "Images" if all(isinstance(block, ImageBlock) for block in files) else "Files"
    label = TextBlock(text=f"[{what} that tool call {result.tool_use_id} returned:]")
    return [write_part(block) for block in (label, *files)]


def is_part(block: Block) -> TypeGuard[TextBlock | ImageBlock | ResourceBlock]:
    """Returns whether a block can be a part of a user's message: a text, an image or a document."""
    return isinstance(block, TextBlock | ImageBlock) or (isinstance(block, ResourceBlock) and block.is_document)


def write_part(block: TextBlock | ImageBlock | ResourceBlock) -> dict[str, Any]:
    """Returns a text, an image or a document as a part of a user's message of the Chat Completions API."""
    match block:
        case TextBlock():
            written: dict[str, Any] = {"type": "text", "text": block.text}
        case ImageBlock():
            written = {"type": "image_url", "image_url": {"url": image_url(block)}}
        case ResourceBlock():
            written = {"type": "file", "file": write_file(block)}
    return add_provided(written, block.provided, FORMAT)


def _write_tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": legal_name(tool.name),
        "description": tool.description,
        "parameters": {"type": "object", **tool.input_schema},
    }
    return add_provided({"type": "function", "function": function}, tool.provided, FORMAT)
