"""A program's own messages: which provider's they are, whether they are messages at all, what the engine reads of each,
and the message itself, which leaves as it came.

A message is kept as the program gave it (`Provided.whole`). The engine counts, pairs, searches and summarizes the
blocks that are read of it here. If an edit changes a block, the change is written into the place that the block was
read from, and nothing else of the message is touched.

A kind of block or item that is not known here is read as text, its JSON. It is sealed: edits keep it or remove its
whole message, because only its provider knows which of its fields are needed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import convert_usage, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import (
    ROLES,
    call_block,
    item_type,
    read_blocks,
    read_image_url,
    read_parts,
    read_result,
    result_block,
    text_block,
)
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    Provided,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)

ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai", "openai-responses"
Place = tuple[str | int, ...]
Sealable = TypeVar("Sealable", bound=TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock)

# The name of the format of a system prompt that was given apart from the messages.
_PROMPT = "{} system"
# Where servers that speak Chat Completions put a model's reasoning, the field that is read first.
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# The fields of an item that name it. The others say what a call is asked to do.
_NAMES = ("type", "id", "call_id", "status", "name", "namespace", "caller", "created_by", "agent", "execution")
_INPUTS = ("arguments", "input", "action", "operation")
# Calls and results of the Responses API whose content is free text, so that an edit may change it.
_FREE_CALLS = ("function_call", "custom_tool_call")
_FREE_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_SHELL_OUTPUT = "shell_call_output"
_SYSTEM_ROLES = ("system", "developer")
# Parts that messages of the Responses API alone have.
_ITEM_PARTS = {"input_text", "output_text", "input_image", "input_file"}
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
# Fields that speak of places in a text, or repeat it.
_ABOUT_TEXT = ("citations", "logprobs")


# Of a message that was given as a role and a text, which all formats have, or with parts that are only text, which
# Anthropic's and OpenAI's chat have.
PLAIN = Provided(format="text", fields={})
PLAIN_PARTS = Provided(format="text", fields={"parts": True})


class ReadPart(Struct, frozen=True):
    """A block and the place in the program's message that it was read from: a path of keys and indices."""

    place: Place
    block: Block


class ReadMessage(Struct, frozen=True):
    """What the engine reads of a message: who said it, and its blocks."""

    role: Role
    parts: Sequence[ReadPart]


def read(format_name: str, raw: JsonObject) -> ReadMessage | None:
    """Reads a message of Anthropic's Messages API or OpenAI's Chat Completions, or an item of OpenAI's Responses.
    Returns None if it has no role, or a role that the format lacks (no type, role or id, in the Responses API)."""
    match format_name:
        case "anthropic":
            role = as_text(raw.get("role"))
            return ReadMessage(Role(role), list(_message_parts(raw, ANTHROPIC))) if role in tuple(Role) else None
        case "openai":
            role = ROLES.get(as_text(raw.get("role")))
            return ReadMessage(role, list(_chat_parts(raw))) if role else None
        case "openai-responses":
            # A reference to an item may have its id alone.
            return _read_item(raw) if item_type(raw) or isinstance(raw.get("id"), str) else None
        case _:
            return None


def to_message(format_name: str, raw: JsonObject, message_id: str) -> Message | None:
    """Returns a program's message as the engine's, which keeps it whole; None if it is not one of the format."""
    reading = read(format_name, raw)
    if reading is None:
        return None
    content = tuple(part.block for part in reading.parts)
    whole = Provided(format=format_name, fields=raw, whole=True)
    return Message(id=message_id, role=reading.role, content=content, provided=whole)


def add_all(builder: TranscriptBuilder, format_name: str, given: Iterable[Any]) -> None:
    """Adds a program's messages to a builder, and the usage of whole answers among them. What is no message of the
    format is recorded as skipped, by its number from 1."""
    for index, item in enumerate(given, start=1):
        raws, usage = unpack(format_name, as_object(item))
        added = ""
        for raw in raws:
            message = to_message(format_name, raw, "")
            if message is None:
                named = "type" if format_name == RESPONSES else "role"
                what = f"{'item' if format_name == RESPONSES else 'message'} {index}"
                builder.skip(index, f"{what} has no known {named}: {raw.get(named)!r}", expected=False)
                continue
            # An item's own id is that of another item, too: of the call that it answers, for example.
            own_id = "" if format_name == RESPONSES else as_text(as_object(item).get("id"))
            new = builder.add(message.role, message.content, own_id, provided=message.provided)
            added = new if message.role is Role.ASSISTANT else added
        if usage:
            builder.report(convert_usage(usage), added)


def unpack(format_name: str, given: JsonObject) -> tuple[list[JsonObject], JsonObject]:
    """Returns the messages of what a program gave: of a provider's whole answer the message or items in it, without
    what requests must not have; otherwise the value itself without Ullage's own `id` and `usage`. The second result is
    the answer's usage, empty if it has none."""
    usage = as_object(given.get("usage"))
    match format_name:
        case "openai-responses":
            is_answer = "type" not in given and "role" not in given and isinstance(given.get("output"), list)
            return (as_objects(given["output"]) if is_answer else [given]), usage if is_answer else {}
        case "openai":
            choices = as_objects(given.get("choices"))
            if "role" not in given and (choices := choices or ([given] if "message" in given else [])):
                return [_without_nulls(as_object(choices[0].get("message")))], usage
            # Only answers have these, or have them without a value.
            is_answer = "annotations" in given or ("tool_calls" in given and given["tool_calls"] is None)
            message = _without_nulls(given) if is_answer else given
        case _:
            is_answer = given.get("type") == "message"
            blocks = [_without_nulls(block) for block in as_objects(given.get("content"))]
            message = {"role": given.get("role"), "content": blocks} if is_answer else given
    return [{name: value for name, value in message.items() if name not in ("id", "usage")}], usage


def _without_nulls(answer: JsonObject) -> JsonObject:
    return {name: value for name, value in answer.items() if value is not None or name == "content"}


def other_format(format_name: str, given: JsonObject) -> str | None:
    """Returns the name of the format that a program's message must be of, if it cannot be of the given one. Returns
    None for a message that the format has as well."""
    roleless = "role" not in given
    if is_piece(given):
        return None
    if roleless and ("choices" in given or "message" in given):
        found = CHAT
    elif roleless and (given.get("object") == "response" or isinstance(given.get("type"), str)):
        found = RESPONSES
    elif is_chat([given]):
        found = CHAT
    elif {as_text(part.get("type")) for part in as_objects(given.get("content"))} & _ITEM_PARTS:
        found = RESPONSES
    else:
        found = ANTHROPIC if is_anthropic([given]) else format_name
    if found == ANTHROPIC and format_name == RESPONSES and as_text(given.get("type")) != "message":
        found = RESPONSES
    return None if found == format_name else found


# The types of what Anthropic's API streams ("Streaming messages").
_PIECES = re.compile(r"(message|content_block)_(start|delta|stop)|ping|response\..*")


def is_piece(given: JsonObject) -> bool:
    """Returns whether a value is a piece of an answer that a provider's API streams, not a whole message."""
    is_event = "role" not in given and _PIECES.fullmatch(as_text(given.get("type"))) is not None
    return is_event or given.get("object") == "chat.completion.chunk"


def given_form(format_name: str, message: Message) -> list[JsonObject] | None:
    """Returns the message as the program gave it, with the changes that edits have made. It is an empty list if they
    left nothing of it. Returns None if the message was not given in this format."""
    if message.provided == PLAIN:
        return [{"role": message.role.value, "content": message.text}] if message.text else []
    if message.provided == PLAIN_PARTS and format_name != RESPONSES:
        parts = [{"type": "text", "text": block.text} for block in message.content if isinstance(block, TextBlock)]
        return [{"role": message.role.value, "content": parts}] if message.text else []
    own = provided_for(message.provided, format_name)
    if own is None or own.whole:
        return None if own is None else [dict(own.fields)]
    reading = read(format_name, own.fields)
    if reading is None or len(reading.parts) != len(message.content):
        return None
    changed = [(part, block) for part, block in zip(reading.parts, message.content, strict=True) if part.block != block]
    return _without_gone(_write(own.fields, changed))


def prompt_message(format_name: str, blocks: Sequence[Any], message_id: str) -> Message:
    """Returns a system prompt of blocks of the format. Raises `InvalidRequest` if one is not a block."""
    check_message("the system prompt", {"role": "system", "content": list(blocks)})
    raw: JsonObject = {"role": "system", "content": list(blocks)}
    content = tuple(part.block for part in _message_parts(raw, format_name))
    whole = Provided(format=_PROMPT.format(format_name), fields=raw, whole=True)
    return Message(id=message_id, role=Role.SYSTEM, content=content, provided=whole)


def given_prompt(
    format_name: str, message: Message, given: Sequence[JsonObject] | None, *, is_first: bool
) -> str | list[JsonObject] | None:
    """Returns the content of a system prompt as the program gave it. `given` is the message in its given form. Returns
    None if it was not given so, or is no prompt but a message of the conversation.

    Anthropic's API takes the prompt apart from the messages, so a system message before all others is it.
    """
    own = provided_for(message.provided, _PROMPT.format(format_name))
    if own is not None and own.whole:
        return as_list(own.fields["content"])
    if message.role is Role.SYSTEM and format_name == ANTHROPIC and is_first and given:
        return given[0]["content"]
    return None


# What the engine reads.


def _chat_parts(raw: JsonObject) -> Iterator[ReadPart]:
    if raw.get("role") in ("tool", "function"):
        # SWE-agent has a list of ids.
        call = as_text(raw.get("tool_call_id")) or next(map(as_text, as_list(raw.get("tool_call_ids"))), "")
        call = call or _legacy_id(raw)
        yield ReadPart(("content",), result_block(call, read_parts(raw.get("content"))))
        return
    if raw.get("role") == "assistant":
        yield from _reasoning(raw)
    yield from _message_parts(raw, CHAT)
    refusal = as_text(raw.get("refusal"))
    yield from [ReadPart(("refusal",), TextBlock(text=refusal))] if refusal else []
    for at, call in enumerate(as_objects(raw.get("tool_calls"))):
        yield ReadPart(("tool_calls", at), _read_call(call, as_text(call.get("id"))))
    legacy = as_object(raw.get("function_call"))
    yield from [ReadPart(("function_call",), _read_call({"function": legacy}, _legacy_id(legacy)))] if legacy else []


def _legacy_id(raw: JsonObject) -> str:
    """Returns an id for a call of the API's first kind, of which a message has one, and the next its result."""
    return f"function_{as_text(raw.get('name'))}"


def _read_call(call: JsonObject, call_id: str) -> ToolUseBlock:
    function = as_object(call.get("function")) or as_object(call.get("custom"))
    if not function:
        return _sealed(ToolUseBlock(id=call_id, name=as_text(call.get("type")), input=call), CHAT, call)
    return call_block(call_id, function.get("name"), function.get("arguments", function.get("input")))


def _reasoning(raw: JsonObject) -> Iterator[ReadPart]:
    """Yields the reasoning that servers add to an answer: LiteLLM's signed `thinking_blocks`, or else its text."""
    thinking = as_list(raw.get("thinking_blocks"))
    for at, block in enumerate(read_blocks(thinking)):
        yield ReadPart(("thinking_blocks", at), block)
    name = next((name for name in _REASONING if raw.get(name)), None)
    if name and not thinking:
        said = raw[name]
        yield ReadPart((name,), ThinkingBlock(thinking=said if isinstance(said, str) else to_json(said)))


def _message_parts(raw: JsonObject, format_name: str) -> Iterator[ReadPart]:
    content = raw.get("content")
    read_all, texts = (read_blocks, ("text",)) if format_name == ANTHROPIC else (read_parts, _TEXTS)
    if not isinstance(content, list):
        yield from (ReadPart(("content",), block) for block in read_all(content))
        return
    for at, item in enumerate(as_list(cast("Any", content))):
        (block,) = read_all([item])
        part = as_object(item)
        if isinstance(block, TextBlock) and part and part.get("type") not in texts:
            block = _sealed(block, format_name, part)
        yield ReadPart(("content", at), block)


def _read_item(item: JsonObject) -> ReadMessage:  # noqa: PLR0911 (one line for each kind of item)
    kind, call_id = item_type(item), as_text(item.get("call_id"))
    if kind == "message":
        role = item.get("role")
        side = Role.ASSISTANT if role == "assistant" else Role.SYSTEM if role in _SYSTEM_ROLES else Role.USER
        return ReadMessage(side, list(_message_parts(item, RESPONSES)))
    if kind == "reasoning":
        return ReadMessage(Role.ASSISTANT, [ReadPart((), _sealed(_read_reasoning(item), RESPONSES, item))])
    if kind == "mcp_approval_response":
        return ReadMessage(Role.USER, [_read_output(item, as_text(item.get("approval_request_id")))])
    if kind == "mcp_approval_request":
        return ReadMessage(Role.ASSISTANT, [_read_item_call(item, as_text(item.get("id")))])
    if kind.endswith("_output") and (call_id or kind == "local_shell_call_output"):
        return ReadMessage(Role.USER, [_read_output(item, call_id or as_text(item.get("id")))])
    if call_id:
        return ReadMessage(Role.ASSISTANT, [_read_item_call(item, call_id)])
    role = Role.SYSTEM if item.get("role") in _SYSTEM_ROLES else Role.ASSISTANT
    return ReadMessage(role, [ReadPart((), _sealed(block, RESPONSES, item)) for block in _read_hosted(item)])


def _read_reasoning(item: JsonObject) -> ThinkingBlock:
    text = join_texts([*read_parts(item.get("summary")), *read_parts(item.get("content"))])
    encrypted = as_text(item.get("encrypted_content")) or None
    return ThinkingBlock(thinking=text or ("" if encrypted else to_json(item)), redacted=encrypted)


def _read_item_call(item: JsonObject, call_id: str) -> ReadPart:
    named = next((name for name in _INPUTS if name in item), None)
    asked = {name: value for name, value in item.items() if name not in _NAMES} if named is None else item[named]
    kind = item_type(item)
    name = as_text(item.get("name")) or kind.removesuffix("_call")
    block = call_block(call_id, name, asked)
    return ReadPart((), block if kind in _FREE_CALLS else _sealed(block, RESPONSES, item))


def _read_output(item: JsonObject, call_id: str) -> ReadPart:
    kind, output = item_type(item), item.get("output")
    picture = as_text(as_object(output).get("image_url")) if kind == "computer_call_output" else ""
    if picture:
        content = (read_image_url(picture),)
    elif kind == _SHELL_OUTPUT:
        streams = [as_text(each.get(name)) for each in as_objects(output) for name in ("stdout", "stderr")]
        content = (TextBlock(text="\n".join(text for text in streams if text)),)
    elif output is None:
        content = (text_block({name: value for name, value in item.items() if name not in _NAMES}),)
    else:
        content = read_result(output)
    block = result_block(call_id, content)
    is_free = kind in (*_FREE_OUTPUTS, _SHELL_OUTPUT) or isinstance(output, str)
    return ReadPart((), block if is_free else _sealed(block, RESPONSES, item))


def _read_hosted(item: JsonObject) -> list[TextBlock | ImageBlock]:
    """Returns what a tool of the provider's did, or an item of an unknown kind: its JSON, in which a generated picture
    is a picture."""
    picture = as_text(item.get("result")) if item_type(item) == "image_generation_call" else ""
    facts = {name: value for name, value in item.items() if not picture or name != "result"}
    return [text_block(facts), *([ImageBlock(data=picture)] if picture else [])]


def _sealed(block: Sealable, format_name: str, raw: JsonObject) -> Sealable:
    """Returns the block with its provider's whole value, by which edits know that they must not change it."""
    return replace(block, provided=Provided(format=format_name, fields=raw, whole=True))


# What is written where an edit has changed a block.

_GONE: Any = object()


def _write(raw: JsonObject, changed: Sequence[tuple[ReadPart, Block]]) -> JsonObject:
    """Returns a copy of a message with blocks in the places of their parts; `_GONE` where the content is gone."""
    written: Any = raw
    for part, block in changed:
        if part.place and part.place[0] in _REASONING:
            # The other fields say the same.
            written = {name: value for name, value in written.items() if name in part.place or name not in _REASONING}
        written = _put(written, part.place, _new_value(part, block))
    return written


def _put(value: Any, place: Place, change: Callable[[Any], Any]) -> Any:
    if not place:
        return change(value)
    key, rest = place[0], place[1:]
    if isinstance(value, list):
        items = as_list(cast("Any", value))
        return [_put(item, rest, change) if at == key else item for at, item in enumerate(items)]
    fields = as_object(value)
    return {**fields, str(key): _put(fields.get(str(key)), rest, change)}


def _new_value(part: ReadPart, block: Block) -> Callable[[Any], Any]:
    """Returns the function that makes the new value of a part's place of its old one."""
    match part.block, block:
        case ToolUseBlock(), ToolUseBlock(input=given):
            return lambda old: _with_input(old, given)
        case ToolResultBlock(), ToolResultBlock(content=content):
            return lambda old: _with_output(old, join_texts(content))
        case ThinkingBlock(), ThinkingBlock(thinking=text):
            # A signature is valid for the old text only, and reasoning without one is refused where signatures are.
            return lambda old: text if isinstance(old, str) else _GONE
        case ResourceBlock(), ResourceBlock(text=text):
            return lambda old: _with_document(old, text or "")
        case _, TextBlock(text=text):
            return lambda old: _with_text(old, text)
        case _:
            return lambda old: old


def _with_text(old: Any, text: str) -> Any:
    if isinstance(old, str):
        return text
    fields = as_object(old)
    if not text:
        return _GONE
    kind = as_text(fields.get("type"))
    if kind in _TEXTS:
        kept = {name: value for name, value in fields.items() if name not in _ABOUT_TEXT}
        annotations: JsonObject = {"annotations": []} if "annotations" in kept else {}
        return {**kept, **annotations, "refusal" if kind == "refusal" else "text": text}
    cached = {"cache_control": fields["cache_control"]} if "cache_control" in fields else {}
    return {"type": "input_text" if kind.startswith("input_") else "text", "text": text, **cached}


def _with_document(old: Any, text: str) -> Any:
    source = as_object(as_object(old).get("source"))
    if source.get("type") == "text":
        return {**as_object(old), "source": {**source, "data": text}} if text else _GONE
    return _with_text(old, text)


def _with_input(old: Any, given: JsonObject) -> Any:
    fields = as_object(old)
    alone = given.get("arguments") if given.keys() == {"arguments"} else None
    as_said = alone if isinstance(alone, str) else to_json(given)
    match fields:
        case {"function": dict()}:
            return {**fields, "function": {**as_object(fields["function"]), "arguments": to_json(given)}}
        case {"custom": dict()}:
            return {**fields, "custom": {**as_object(fields["custom"]), "input": as_said}}
        case {"type": "tool_use"}:
            return {**fields, "input": given}
        case {"type": "custom_tool_call"}:
            return {**fields, "input": as_said}
        case _:
            return {**fields, "arguments": to_json(given)}


def _with_output(old: Any, text: str) -> Any:
    match old:
        case {"type": "shell_call_output"}:
            first = next(iter(as_objects(as_object(old).get("output"))), JsonObject())
            return {**as_object(old), "output": [{**first, "stdout": text, "stderr": ""}]}
        case {"type": "tool_result"}:
            return {**as_object(old), "content": text}
        case {"type": str()}:
            return {**as_object(old), "output": text}
        case _:
            return text


def _without_gone(written: JsonObject) -> list[JsonObject]:
    """Returns a list of the message without its places that hold `_GONE`; empty if it has no others."""
    if written is _GONE:
        return []
    left: JsonObject = {}
    for name, value in written.items():
        items = [item for item in as_list(value) if item is not _GONE] if isinstance(value, list) else value
        if items is not _GONE and (items or not value):
            left[name] = items
    if "content" in written and "content" not in left:
        return [{**left, "content": None}] if left.get("tool_calls") or left.get("function_call") else []
    return [left]


def provided_for(provided: Provided | None, format_name: str) -> Provided | None:
    """Returns the fields that a block or message has for this format, or None."""
    return provided if provided is not None and provided.format == format_name else None


def add_provided(written: JsonObject, provided: Provided | None, format_name: str) -> JsonObject:
    """Returns `written`, a block or message in a format, with the format's own fields added. If `provided` holds the
    whole value of this format, returns that instead."""
    own = provided_for(provided, format_name)
    if own is None:
        return written
    return dict(own.fields) if own.whole else _merge(written, own.fields)


def _merge(written: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
    merged = dict(written)
    for name, value in fields.items():
        inside = merged.get(name)
        both = isinstance(value, dict) and isinstance(inside, dict)
        merged[name] = _merge(as_object(inside), as_object(value)) if both else value
    return merged


_CHAT_ROLES = ("developer", "tool", "function")
_CHAT_FIELDS = ("tool_calls", "function_call", "refusal", "audio", "tool_call_id")
_CHAT_PARTS = ("image_url", "input_audio", "file", "refusal")
# An answer of OpenAI's may have any of these in place of a content.
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
# Fields without which a block says nothing. Kinds that are not listed are the provider's own affair.
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
}


def is_chat(messages: Iterable[Any]) -> bool:
    """Returns whether any of the messages can only be one of OpenAI's chat API, by its role, fields or content.
    Messages with plain text alone are valid in Anthropic's API, too."""
    return any(_is_chat(as_object(message)) for message in messages)


def is_anthropic(messages: Iterable[Any]) -> bool:
    """Returns whether any of the messages holds content blocks that only Anthropic's API has."""
    parts = (part for message in messages for part in as_objects(as_object(message).get("content")))
    return any(part.get("type") not in ("text", *_CHAT_PARTS) for part in parts)


def _is_chat(message: JsonObject) -> bool:
    return (
        message.get("role") in _CHAT_ROLES
        or any(message.get(name) is not None for name in _CHAT_FIELDS)
        or ("content" in message and message["content"] is None)
        or any(part.get("type") in _CHAT_PARTS for part in as_objects(message.get("content")))
    )


def check_message(name: str, message: Any) -> None:
    """Raises `InvalidRequest` if a message is not an object, if its content is neither text nor a list of valid content
    blocks, or if its `tool_calls` are not a list of objects.

    The content may be missing only if there is another field in its place, such as `tool_calls`. `name` is what the
    error calls the message. A message without a role is not checked further.
    """
    if not isinstance(message, dict):
        raise InvalidRequest(f"{name} is {show(message)}; a message is an object with `role` and `content`")
    given = as_object(cast("Any", message))
    content = given.get("content")
    if not isinstance(given.get("role"), str):
        return
    if content is None:
        # Some servers give an answer that says nothing, and a function may return nothing.
        if given["role"] not in ("assistant", "function") and not any(
            given.get(field) for field in _INSTEAD_OF_CONTENT
        ):
            raise InvalidRequest(f"{name} has no `content`; give text or a list of content blocks")
    elif isinstance(content, list):
        for at, part in enumerate(as_list(content)):
            _check_part(f"{name}, content[{at}]", part)
    elif not isinstance(content, str):
        raise InvalidRequest(f"{name}: `content` is {show(content)}; it must be text or a list of content blocks")
    calls = given.get("tool_calls")
    if calls is not None and len(as_objects(calls)) != len(as_list(calls)):
        raise InvalidRequest(f"{name}: `tool_calls` is {show(calls)}; it must be a list of calls")


def _check_part(name: str, part: Any) -> None:
    if isinstance(part, str):
        return
    block = as_object(part)
    kind = block.get("type")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{name} is {show(part)}; a content block is an object with a `type`")
    for field, expected in _REQUIRED.get(kind, {}).items():
        if not isinstance(block.get(field), expected):
            raise InvalidRequest(f"{name}: a {kind} block needs `{field}`; it is {show(block.get(field))}")
    if kind == "tool_result" and not isinstance(block.get("content"), str | list | None):
        raise InvalidRequest(
            f"{name}: `content` is {show(block['content'])}; it must be text or a list of content blocks"
        )


def show(value: Any) -> str:
    """Returns a wrong value as an error quotes it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


# Characters of a wrong value that an error quotes.
_SHOWN = 60
