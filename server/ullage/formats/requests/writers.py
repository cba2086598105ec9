"""Writes messages, and whole requests, in three formats: Anthropic's Messages API, OpenAI's Chat Completions and its
Responses API.

A request keeps its provider's rules for any view of a transcript (`requests/turns.py`): roles alternate, each tool call
is answered at once, ids are legal. With `as_given`, messages that a program gave in the request's format stay as they
are. A single message (`write_messages`) is written without such rules.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

from msgspec import Struct

from ullage.formats.requests.turns import Turn, arrange_turns, legal_name, writable
from ullage.formats.transcripts.chat import NAMELESS, image_url, write_arguments, write_file
from ullage.formats.verbatim import ANTHROPIC, CHAT, RESPONSES, add_provided, provided_for
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    SealedCompaction,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)

# The first way of OpenAI's chat API to call functions: one call in an answer, one message with its result, no ids.
LEGACY_CALL, LEGACY_RESULT = "function_call", "function"


def write_messages(format_name: str, message: Message) -> list[dict[str, Any]]:
    """Returns one message in a format, by the rules of no whole request. It may become several: tool results are
    messages of their own in the Chat Completions API, and all blocks but text are items of their own in the Responses
    API."""
    kinds = (TextBlock, ImageBlock, ToolUseBlock, ToolResultBlock)
    own = (*kinds, ThinkingBlock) if format_name == ANTHROPIC else kinds
    turn = Turn(role=message.role, content=tuple(writable(message, own, format_name)))
    match format_name:
        case "anthropic":
            return [{"role": message.role.value, "content": list(map(write_block, turn.content))}]
        case "openai":
            return _write_chat(turn) or [{"role": message.role.value, "content": ""}]
        case _:
            return list(write_turn(turn))


def _write_tool(tool: ToolDefinition, format_name: str) -> dict[str, Any]:
    named = {"name": legal_name(tool.name), "description": tool.description}
    # Anthropic refuses a schema whose type isn't given as an object.
    schema = {"type": "object", **tool.input_schema}
    match format_name:
        case "anthropic":
            written: dict[str, Any] = {**named, "input_schema": schema}
        case "openai":
            written = {"type": "function", "function": {**named, "parameters": schema}}
        case _:
            written = {"type": "function", **named, "parameters": schema}
    return add_provided(written, tool.provided, format_name)


class AnthropicRequest(Struct, frozen=True, kw_only=True):
    """What follows from the conversation of a request to Anthropic's Messages API. `system` may be None."""

    system: str | list[dict[str, Any]] | None
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_anthropic(
    messages: Sequence[Message], tools: Sequence[ToolDefinition] = (), *, as_given: bool = False
) -> AnthropicRequest:
    """Returns a request to Anthropic's Messages API. Without messages its list of messages is empty."""
    conversation = arrange_turns(messages, ANTHROPIC, thinking=True, as_given=as_given)
    written: list[dict[str, Any]] = []
    for turn in conversation.turns:
        content = [write_block(block) for block in turn.content] if turn.given is None else []
        written.extend([{"role": turn.role.value, "content": content}] if turn.given is None else turn.given)
    return AnthropicRequest(
        system=conversation.prompt or None, messages=written, tools=[_write_tool(tool, ANTHROPIC) for tool in tools]
    )


def write_block(block: Block) -> dict[str, Any]:
    """Returns a content block as Anthropic's API has it, with the fields that were kept when it was read."""
    kept = None if isinstance(block, CompactionBlock) else block.provided
    return add_provided(_own_fields(block), kept, ANTHROPIC)


def _own_fields(block: Block) -> dict[str, Any]:  # noqa: PLR0911
    """Returns a block from Ullage's fields alone; empty for a resource that is no document, and for a marker."""
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
            return _write_own_result(block)
        case ResourceBlock(data=str(data)) if block.is_document:
            source = {"type": "base64", "media_type": block.mime_type, "data": data}
            return {"type": "document", "source": source} | ({} if block.uri == NAMELESS else {"title": block.name})
        case _:
            # Another resource: the format writes its own as it came, any other is text by now.
            return {}


def _write_own_result(block: ToolResultBlock) -> dict[str, Any]:
    written: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    if block.content:
        written["content"] = [write_block(part) for part in block.content]
    if block.is_error:
        written["is_error"] = True
    return written


class OpenAIRequest(Struct, frozen=True, kw_only=True):
    """The fields of a request to OpenAI's Chat Completions API that follow from the conversation. The system prompt is
    the first message."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_openai(
    messages: Sequence[Message], tools: Sequence[ToolDefinition] = (), *, as_given: bool = False
) -> OpenAIRequest:
    """Returns a request to OpenAI's Chat Completions API. Thinking and a result's error flag are left out, because this
    API has no field for them."""
    conversation = arrange_turns(messages, CHAT, thinking=False, as_given=as_given)
    written: list[dict[str, Any]] = []
    if conversation.prompts:
        written.append({"role": "system", "content": conversation.prompt})
    for turn in conversation.turns:
        written.extend(_write_chat(turn))
    return OpenAIRequest(messages=written, tools=[_write_tool(tool, CHAT) for tool in tools])


def _write_chat(turn: Turn) -> list[dict[str, Any]]:
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
            call = _write_call(block)
            if LEGACY_CALL in call:
                written |= call
            else:
                calls.append({**call, "id": block.id})
    if calls:
        written["tool_calls"] = calls
    return written


def _write_call(block: ToolUseBlock) -> dict[str, Any]:
    function = {"name": block.name, "arguments": write_arguments(block.input)}
    return add_provided({"id": block.id, "type": "function", "function": function}, block.provided, CHAT)


def _write_result(block: ToolResultBlock) -> dict[str, Any]:
    written = {"role": "tool", "tool_call_id": block.tool_use_id, "content": join_texts(block.content)}
    provided = provided_for(block.provided, CHAT)
    if provided and provided.fields.get("role") == LEGACY_RESULT:
        del written["tool_call_id"]
    return written if provided is None else {**written, **provided.fields}


def _write_user(turn: Turn) -> list[dict[str, Any]]:
    """Returns one tool message for each tool result of the turn, then a user message with the turn's other content, if
    any.

    A result's images and documents go into the user message, because a tool message can't contain them.
    """
    results = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    written = [_write_result(result) for result in results]
    parts = [part for result in results for part in _write_result_files(result)]
    parts.extend(_write_chat_part(block) for block in turn.content if _is_part(block))
    if parts:
        alone = parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else None
        written.append({"role": "user", "content": alone if alone is not None else parts})
    return written


def _write_result_files(result: ToolResultBlock) -> list[dict[str, Any]]:
    files = [block for block in result.content if _is_part(block) and not isinstance(block, TextBlock)]
    if not files:
        return []
    what = "Images" if all(isinstance(block, ImageBlock) for block in files) else "Files"
    label = TextBlock(text=f"[{what} that tool call {result.tool_use_id} returned:]")
    return [_write_chat_part(block) for block in (label, *files)]


def _is_part(block: Block) -> TypeGuard[TextBlock | ImageBlock | ResourceBlock]:
    return isinstance(block, TextBlock | ImageBlock) or (isinstance(block, ResourceBlock) and block.is_document)


def _write_chat_part(block: TextBlock | ImageBlock | ResourceBlock) -> dict[str, Any]:
    match block:
        case TextBlock():
            written: dict[str, Any] = {"type": "text", "text": block.text}
        case ImageBlock():
            written = {"type": "image_url", "image_url": {"url": image_url(block)}}
        case ResourceBlock():
            written = {"type": "file", "file": write_file(block)}
    return add_provided(written, block.provided, CHAT)


class ResponsesRequest(Struct, frozen=True, kw_only=True):
    """What follows from the conversation of a request to OpenAI's Responses API. `instructions` may be None."""

    instructions: str | None
    input: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_responses(
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition] = (),
    sealed_by: str = "",
    *,
    as_given: bool = False,
) -> ResponsesRequest:
    """Returns a request to OpenAI's Responses API.

    A marker that holds a compaction of the provider named `sealed_by` is written as that provider's own compaction
    item. Reasoning is left out, because only the provider that encrypted it can read it. With `as_given`, items that a
    program gave stay as they are, reasoning included.
    """
    systems: list[str] = []
    items: list[dict[str, Any]] = []
    for sealed, stretch in _stretches(messages, sealed_by):
        conversation = arrange_turns(stretch, RESPONSES, thinking=False, as_given=as_given)
        for prompt in conversation.prompts:
            if isinstance(prompt, str):
                systems.append(prompt)
            else:
                # Instructions are a text, so that a prompt of blocks is an item.
                items.insert(0, {"role": "system", "content": prompt})
        items += [{"type": "compaction", "encrypted_content": sealed.data}] if sealed else []
        items += [item for turn in conversation.turns for item in write_turn(turn)]
    return ResponsesRequest(
        instructions="\n\n".join(systems) or None, input=items, tools=[_write_tool(tool, RESPONSES) for tool in tools]
    )


def _stretches(
    messages: Sequence[Message], sealed_by: str
) -> Iterator[tuple[SealedCompaction | None, Sequence[Message]]]:
    """Divides the messages at markers with a compaction that the provider `sealed_by` made. Yields each such
    compaction, None for the first part, with the messages after it. Tool calls and results are paired within each part.
    """
    sealed, start = None, 0
    for index, message in enumerate(messages):
        found = message.compaction.sealed if message.compaction else None
        if found is not None and found.provider == sealed_by:
            yield sealed, messages[start:index]
            sealed, start = found, index + 1
    yield sealed, messages[start:]


def write_turn(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yields a turn as items. Calls and results are items of their own, what is between them message items."""
    if turn.given is not None:
        yield from turn.given
        return
    said: list[Block] = []
    for block in turn.content:
        own = None if isinstance(block, CompactionBlock) else provided_for(block.provided, RESPONSES)
        if own is None and isinstance(block, TextBlock | ImageBlock | ResourceBlock):
            said.append(block)
            continue
        yield from _write_said(turn.role, said)
        said = []
        if own is not None:
            yield own.fields
        elif isinstance(block, ToolUseBlock):
            arguments = write_arguments(block.input)
            yield {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        elif isinstance(block, ToolResultBlock):
            is_text = all(isinstance(part, TextBlock) for part in block.content)
            parts = [] if is_text else [_write_item_part(part, "input_text") for part in block.content]
            output = join_texts(block.content) if is_text else parts
            yield {"type": "function_call_output", "call_id": block.tool_use_id, "output": output}
    yield from _write_said(turn.role, said)


def _write_said(role: Role, said: Sequence[Block]) -> Iterator[dict[str, Any]]:
    if not said:
        return
    text = "output_text" if role is Role.ASSISTANT else "input_text"
    yield {"type": "message", "role": role.value, "content": [_write_item_part(block, text) for block in said]}


def _write_item_part(block: Block, text: str) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": text, "text": block.text}
        case ImageBlock():
            return {"type": "input_image", "image_url": image_url(block)}
        case ResourceBlock():
            return {"type": "input_file", **write_file(block)}
        case _:
            raise AssertionError(f"a turn holds a {type(block).__name__}")
