"""The three message formats in which programs talk to models, each with its reader and its writer: Anthropic's Messages
API, OpenAI's Chat Completions and its Responses API.

A request keeps its provider's rules for any view of a transcript (`turns.py`): roles alternate, each tool call is
answered at once, ids are legal. With `as_given`, messages that a program gave in the request's format stay as they are.
A single message (`write_messages`) is written without such rules.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.formats import verbatim
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import NAMELESS, image_url, read_functions, read_tools, write_arguments, write_file
from ullage.formats.turns import Turn, arrange_turns, legal_name, writable
from ullage.formats.verbatim import ANTHROPIC, CHAT, RESPONSES, add_provided, check_message, provided_for, show
from ullage.model.errors import InvalidRequest
from ullage.model.events import ConversationImported, Event, MessageAppended
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    Provided,
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


class Provider(StrEnum):
    """A message format: Anthropic's Messages API, OpenAI's Chat Completions or OpenAI's Responses."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"

    @classmethod
    def _missing_(cls, value: object) -> "Provider":
        raise InvalidRequest(f"no provider {value!r}; there are {', '.join(cls)}")


# The field of a request that has its messages.
MESSAGES = {Provider.ANTHROPIC: "messages", Provider.OPENAI: "messages", Provider.OPENAI_RESPONSES: "input"}
# What a message of a format, or an item, is named by.
_NAMED = {
    Provider.ANTHROPIC: ("user", "assistant", "system"),
    Provider.OPENAI: ("system", "developer", "user", "assistant", "tool", "function"),
    Provider.OPENAI_RESPONSES: ("message", "function_call", "function_call_output", "and other types of items"),
}
# The end of the types of Anthropic's own tools: the day on which they were published.
_DATED = re.compile(r"_\d{8}$")


def read_events(
    provider: Provider, messages: Sequence[Any], new_id: Callable[[], str] | None = None, place: str = ""
) -> tuple[Event, ...]:
    """Converts a program's own messages into events of a log, with the provider's usage if a message contains it.

    `new_id` makes the ids of messages that have none; by default they are numbered. Raises `InvalidRequest` if an
    element is not a message in this provider's format; the error calls it `place`, by default by its number.
    """
    builder = TranscriptBuilder(provider.value, "messages", new_id)
    for at, message in enumerate(messages):
        _check(provider, place or f"message {at + 1}", message)
    verbatim.add_all(builder, provider.value, messages)
    if builder.skipped:
        skipped = builder.skipped[0]
        other = verbatim.other_format(provider.value, as_object(messages[skipped.line - 1]))
        remedy = f"give `provider={other!r}`" if other else f"there are {', '.join(_NAMED[provider])}"
        raise InvalidRequest(f"not in the format of {provider.value}: {skipped.reason}; {remedy}")
    # The conversation is the program's own: nothing is imported.
    return tuple(event for event in builder.events if not isinstance(event, ConversationImported))


def _check(provider: Provider, place: str, message: Any) -> None:
    given = as_object(message)
    if verbatim.is_piece(given):
        raise InvalidRequest(f"{place} is a piece of a stream; give the whole answer when the stream has ended")
    if provider is Provider.OPENAI_RESPONSES:
        if not isinstance(message, dict):
            raise InvalidRequest(f"{place} is {show(message)}; an item is an object with a `type` or a `role`")
    elif "role" in given or not ("choices" in given or "message" in given):
        check_message(place, message)


def read_messages(provider: Provider | str, messages: Sequence[Any], place: str = "") -> tuple[Message, ...]:
    """Converts a program's own messages into Ullage's, with numbered ids where a message has none.

    Raises `InvalidRequest` for an unknown provider, or if an element is not a message in this provider's format; the
    error calls it `place`, by default by its number.
    """
    events = read_events(Provider(provider), messages, place=place)
    return tuple(event.message for event in events if isinstance(event, MessageAppended))


def write_messages(provider: Provider, message: Message) -> list[dict[str, Any]]:
    """Returns one message in the provider's format. A message that was read in this format is written as it came in. A
    message may become several: OpenAI has one message per tool result, and the Responses API one item per part."""
    given = verbatim.given_form(provider.value, message)
    if given is not None:
        return given
    kinds = (TextBlock, ImageBlock, ToolUseBlock, ToolResultBlock)
    own = (*kinds, ThinkingBlock) if provider is Provider.ANTHROPIC else kinds
    turn = Turn(role=message.role, content=tuple(writable(message, own, provider.value)))
    match provider:
        case Provider.ANTHROPIC:
            return [{"role": message.role.value, "content": list(map(write_block, turn.content))}]
        case Provider.OPENAI:
            return _write_chat(turn) or [{"role": message.role.value, "content": ""}]
        case Provider.OPENAI_RESPONSES:
            return list(write_turn(turn))


def read_definitions(provider: Provider | None, tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools` into tool definitions, which keep what the program gave. A tool without a name,
    which the provider runs itself, is named by its type. Without `provider`, each tool's fields show its format. Raises
    `InvalidRequest` if one is not an object, or its name is not a text."""
    return tuple(_definition(provider, at, tool) for at, tool in enumerate(tools))


def _definition(provider: Provider | None, at: int, tool: Any) -> ToolDefinition:
    given = as_object(tool)
    if not given:
        form = f" in the format of {provider.value}" if provider else ""
        raise InvalidRequest(f"tools[{at}] is {show(tool)}; a tool is an object{form}")
    for named in (given, as_object(given.get("function")), as_object(given.get("custom"))):
        if not isinstance(name := named.get("name", ""), str):
            raise InvalidRequest(f"tools[{at}] has the name {show(name)}; a name is a text")
    provider = provider or _tool_format(given)
    read = (read_tools if provider is Provider.ANTHROPIC else read_functions)([given])
    plain = read[0] if read else ToolDefinition(name=as_text(given.get("type")) or "tool")
    return replace(plain, provided=Provided(format=provider.value, fields=given, whole=True))


def _tool_format(tool: JsonObject) -> Provider:
    kind = as_text(tool.get("type"))
    if isinstance(tool.get("function") or tool.get("custom"), dict):
        return Provider.OPENAI
    if "input_schema" in tool or _DATED.search(kind) or kind == "mcp_toolset":
        return Provider.ANTHROPIC
    return Provider.OPENAI_RESPONSES if kind or "parameters" in tool else Provider.ANTHROPIC


def write_request(
    provider: Provider | str, messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Returns the fields of a provider's request that follow from the conversation: its messages, and the system prompt
    and the tools if there are any, in the provider's format.

    Raises `InvalidRequest` for an unknown provider.
    """
    match provider := Provider(provider):
        case Provider.ANTHROPIC:
            request = write_anthropic(messages, tools, as_given=True)
        case Provider.OPENAI:
            request = write_openai(messages, tools, as_given=True)
        case Provider.OPENAI_RESPONSES:
            request = write_responses(messages, tools, as_given=True)
    # Providers refuse an empty list of tools and a null system prompt.
    return {key: value for key, value in msgspec.to_builtins(request).items() if value or key == MESSAGES[provider]}


# The first way of OpenAI's chat API to call functions: one call in an answer, one message with its result, no ids.
LEGACY_CALL, LEGACY_RESULT = "function_call", "function"


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
