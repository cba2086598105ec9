"""Converts what providers' APIs have in files into Ullage's blocks and messages: Anthropic's content blocks, messages
of OpenAI's Chat Completions API (many programs log in this shape), items of its Responses API, and parts of Google's.

Images and documents are `data:` URLs in OpenAI's messages; this module reads and writes them. Of the Responses API,
consecutive items of the model become one assistant message, consecutive tool results one message of the user.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

from ullage.formats.parsing import parse_json, to_json
from ullage.formats.transcripts.builder import PieceReader, TranscriptBuilder
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import (
    PDF,
    Block,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)

# The address of a document that came without a title.
NAMELESS = "document"


def read_blocks(content: Any) -> tuple[Block, ...]:
    """Converts a message's `content` in the shape of Anthropic's API, a text or a list of blocks, to content blocks. A
    block of unknown type becomes a text block of its JSON."""
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    return tuple(_read_block(item) for item in as_list(content))


def read_tools(tools: Any) -> tuple[ToolDefinition, ...]:
    """Converts the `tools` of a request to Anthropic's API. Tools that the provider defines itself have an empty
    schema. Entries without a name are left out."""
    return _read_definitions(as_objects(tools), "input_schema")


def _read_block(item: Any) -> Block:
    block = as_object(item)
    match block.get("type"):
        case "thinking":
            signature = as_text(block.get("signature")) or None
            return ThinkingBlock(thinking=as_text(block.get("thinking")), signature=signature)
        case "redacted_thinking":
            return ThinkingBlock(thinking="", redacted=as_text(block.get("data")))
        case "tool_use":
            return call_block(block.get("id"), block.get("name"), as_object(block.get("input")))
        case "tool_result":
            content = _read_each(block.get("content"), _read_anthropic_part)
            return result_block(block.get("tool_use_id"), content, failed=block.get("is_error") is True)
        case _:
            return _read_anthropic_part(item)


def _read_each(content: Any, read: Callable[[Any], ResultPart]) -> tuple[ResultPart, ...]:
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    if isinstance(content, list):
        return tuple(map(read, as_list(content)))
    return () if content is None else (text_block(content),)


def _read_anthropic_part(item: Any) -> ResultPart:
    block = as_object(item)
    match block.get("type"):
        case "text":
            return TextBlock(text=as_text(block.get("text")))
        case "image":
            return _read_anthropic_image(block)
        case "document":
            return _read_document(block)
        case _:
            return text_block(item)


def _read_anthropic_image(block: JsonObject) -> ResultPart:
    source = as_object(block.get("source"))
    if source.get("type") == "url":
        return ImageBlock(url=as_text(source.get("url")))
    if source.get("type") == "base64":
        return picture(source.get("media_type"), source.get("data"))
    return text_block(block)


def _read_document(block: JsonObject) -> ResultPart:
    source = as_object(block.get("source"))
    uri = as_text(source.get("url")) or as_text(block.get("title")) or NAMELESS
    media_type = as_text(source.get("media_type")) or None
    if source.get("type") == "base64":
        return ResourceBlock(uri=uri, mime_type=media_type, data=as_text(source.get("data")))
    if source.get("type") in ("text", "url"):
        return ResourceBlock(uri=uri, text=as_text(source.get("data")) or None, mime_type=media_type)
    return text_block(block)


def text_block(item: Any) -> TextBlock:
    """Returns a text as a block, and any other value as its JSON."""
    return TextBlock(text=item if isinstance(item, str) else to_json(item))


def thoughts(text: Any, signature: Any = None) -> tuple[ThinkingBlock, ...]:
    """Returns a model's reasoning as blocks: none if there is no text."""
    return (ThinkingBlock(thinking=text, signature=as_text(signature) or None),) if (text := as_text(text)) else ()


def call_block(call_id: Any, name: Any, given: Any) -> ToolUseBlock:
    """Returns a tool call. Its input is an object, or an object's JSON as text."""
    return ToolUseBlock(id=as_text(call_id), name=as_text(name), input=read_arguments(given))


def result_block(call_id: Any, content: Iterable[Block], *, failed: bool = False) -> ToolResultBlock:
    """Returns the result of a tool call, of the blocks that a result may have."""
    parts = tuple(part for part in content if isinstance(part, TextBlock | ImageBlock | ResourceBlock))
    return ToolResultBlock(tool_use_id=as_text(call_id), content=parts, is_error=failed)


def picture(media_type: Any, data: Any) -> ImageBlock:
    """Returns a picture of this media type, by default PNG, whose data are in Base64."""
    return ImageBlock(media_type=as_text(media_type) or "image/png", data=as_text(data))


ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.USER,
    "function": Role.USER,
}


class ChatReader:
    """Adds messages of OpenAI's Chat Completions API to a builder.

    Numbers the calls of the legacy `function_call` kind, because neither these calls nor their results have ids. Fields
    that Ullage's messages lack are left out: files of other programs in this shape have some that the API would refuse.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._legacy_calls = 0

    def add_all(self, messages: Iterable[Any]) -> None:
        """Adds each message. A message without a known role is recorded as skipped, by its number from 1."""
        for index, item in enumerate(messages, start=1):
            message = as_object(item)
            if not self.add(message):
                role = message.get("role")
                self._builder.skip(index, f"message {index} has no known role: {role!r}", expected=False)

    def add(self, message: JsonObject, timestamp: int = 0) -> str:
        """Adds one message; `timestamp` is Unix milliseconds. Returns its id, or "" if its role is unknown."""
        role = ROLES.get(as_text(message.get("role")))
        if role is None:
            return ""
        return self._builder.add(role, self._read(message), as_text(message.get("id")), timestamp)

    def _read(self, message: JsonObject) -> list[Block]:
        kind = message.get("role")
        if kind == "tool":
            return _read_results(message)
        if kind == "function":
            return [result_block(f"call_{self._legacy_calls}", read_parts(message.get("content")))]
        thinking = read_thinking(message) if kind == "assistant" else []
        blocks: list[Block] = [*thinking, *read_parts(message.get("content"))]
        if refusal := as_text(message.get("refusal")):
            blocks.append(TextBlock(text=refusal))
        blocks.extend(_read_call(call) for call in as_objects(message.get("tool_calls")))
        if legacy := as_object(message.get("function_call")):
            self._legacy_calls += 1
            blocks.append(_read_call({"id": f"call_{self._legacy_calls}", "function": legacy}))
        return blocks


def read_parts(content: Any) -> tuple[ResultPart, ...]:
    """Converts a message's `content` to content blocks. A part of unknown type becomes a text of its JSON."""
    return _read_each(content, _read_part)


def read_arguments(arguments: Any) -> JsonObject:
    """Returns a call's arguments as an object; text that isn't one under the key `arguments`."""
    if isinstance(arguments, dict):
        return as_object(arguments)
    text = as_text(arguments)
    if not text.strip():
        return {}
    value, problem = parse_json(text.encode("utf-8", "replace"))
    return {"arguments": arguments} if problem or not isinstance(value, dict) else as_object(cast("Any", value))


def write_arguments(given: JsonObject) -> str:
    """Returns a tool call's arguments as text: those of a call that a model has broken off are as the model said them.
    A text that is not meant as JSON stays under its key, because a tool may have a parameter of that name."""
    said = given.get("arguments") if given.keys() == {"arguments"} else None
    is_broken = isinstance(said, str) and said.lstrip().startswith("{") and read_arguments(said) == given
    return as_text(said) if is_broken else to_json(given)


def read_functions(tools: Any) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools`: functions in the shape of OpenAI's chat API, or flat as in its Responses API.
    Entries without a name are left out."""
    functions = (as_object(tool.get("function")) or tool for tool in as_objects(tools))
    return _read_definitions(functions, "parameters")


def _read_definitions(tools: Iterable[JsonObject], schema: str) -> tuple[ToolDefinition, ...]:
    return tuple(
        ToolDefinition(
            name=name, description=as_text(tool.get("description")), input_schema=as_object(tool.get(schema))
        )
        for tool in tools
        if (name := as_text(tool.get("name")))
    )


def _read_results(message: JsonObject) -> list[Block]:
    ids = [as_text(item) for item in as_list(message.get("tool_call_ids"))]  # SWE-agent's spelling
    call = as_text(message.get("tool_call_id")) or (ids[0] if ids else "")
    return [result_block(call, read_parts(message.get("content")))]


def _read_call(call: JsonObject) -> ToolUseBlock:
    function = as_object(call.get("function")) or as_object(call.get("custom"))
    return call_block(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))


def read_thinking(message: JsonObject) -> list[Block]:
    """Returns the reasoning that gateways add: LiteLLM's `thinking_blocks`, or DeepSeek's `reasoning_content`."""
    blocks = [block for block in read_blocks(message.get("thinking_blocks")) if isinstance(block, ThinkingBlock)]
    return [*(blocks or thoughts(message.get("reasoning_content")))]


def _read_part(item: Any) -> ResultPart:
    part = as_object(item)
    match part.get("type"):
        case "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text":
            return TextBlock(text=as_text(part.get("text")))
        case "refusal":
            return TextBlock(text=as_text(part.get("refusal")))
        case "image_url" | "input_image":
            image = part.get("image_url")
            url = as_text(image) or as_text(as_object(image).get("url"))
            return read_image_url(url) if url else text_block(item)
        case "file" | "input_file":
            # Chat Completions has the file's fields in an object of their own, the Responses API in the part.
            document = read_file(as_object(part.get("file")) or part)
            return document or text_block(item)
        case _:
            return text_block(item)


def read_image_url(url: str) -> ImageBlock:
    """Returns an image block for a URL. A base64 `data:` URL becomes media type and data."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return ImageBlock(media_type=head.removeprefix("data:").removesuffix(";base64") or "image/png", data=data)
    return ImageBlock(url=url)


def image_url(block: ImageBlock) -> str:
    """Returns the URL by which OpenAI accepts an image: the block's own URL, or a `data:` URL with its data."""
    return block.url if block.url is not None else f"data:{block.media_type};base64,{block.data}"


def read_file(file: JsonObject) -> ResourceBlock | None:
    """Returns the document of a part. Returns None if it holds no PDF, or only an uploaded file's id."""
    read = read_image_url(as_text(file.get("file_data")))
    if read.data is None or read.media_type != PDF:
        return None
    return ResourceBlock(uri=as_text(file.get("filename")) or "document.pdf", mime_type=PDF, data=read.data)


def write_file(block: ResourceBlock) -> dict[str, str]:
    """Returns a document's `filename` and `file_data`. OpenAI reads the kind of a file from the end of its name."""
    name = block.name if block.name.lower().endswith(".pdf") else f"{block.name}.pdf"
    return {"filename": name, "file_data": f"data:{block.mime_type};base64,{block.data}"}


class PartReader:
    """Converts the parts of one conversation's messages, in the shape of Google's Gemini API, to content blocks.

    Gives ids to calls that have none, and the same ids to their responses: the API pairs those by name and order.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._open: dict[str, list[str]] = {}

    def read(self, content: Any) -> list[Block]:
        """Converts a text, a part, or a list of both. A part of unknown kind becomes a text of its JSON."""
        items = as_list(content) if isinstance(content, list) else [content]
        return [block for item in items for block in self._read(item)]

    def _read(self, item: Any) -> Iterable[Block]:
        part = as_object(item)
        text = as_text(item) or as_text(part.get("text"))
        call = as_object(part.get("functionCall"))
        response = as_object(part.get("functionResponse"))
        if call:
            yield self._read_call(call)
        elif response:
            yield self._read_response(response)
        elif part.get("thought") is True:
            yield ThinkingBlock(thinking=text)
        elif text:
            yield TextBlock(text=text)
        elif "text" not in part and item not in ("", None):
            yield _read_data(part)

    def _read_call(self, call: JsonObject) -> ToolUseBlock:
        name = as_text(call.get("name"))
        call_id = as_text(call.get("id"))
        if not call_id:
            self._calls += 1
            call_id = f"call_{self._calls}"
            self._open.setdefault(name, []).append(call_id)
        return call_block(call_id, name, as_object(call.get("args")))

    def _read_response(self, response: JsonObject) -> ToolResultBlock:
        waiting = self._open.get(as_text(response.get("name")), [])
        call_id = as_text(response.get("id")) or (waiting.pop(0) if waiting else "")
        result = as_object(response.get("response"))
        error = result.get("error")
        output = result.get("output", result if error is None else error)
        text = output if isinstance(output, str) else to_json(output)
        parts = [_read_data(as_object(part)) for part in as_list(response.get("parts"))]
        failed = "output" not in result and bool(error)
        return result_block(call_id, [*read_parts(text), *parts], failed=failed)


def _read_data(part: JsonObject) -> ResultPart:
    data, file = as_object(part.get("inlineData")), as_object(part.get("fileData"))
    if as_text(data.get("mimeType")).startswith("image/"):
        return ImageBlock(media_type=as_text(data.get("mimeType")), data=as_text(data.get("data")))
    if data.get("mimeType") == PDF:
        uri = as_text(data.get("displayName")) or "document.pdf"
        return ResourceBlock(uri=uri, mime_type=PDF, data=as_text(data.get("data")))
    if file.get("fileUri"):
        return ResourceBlock(uri=as_text(file.get("fileUri")), mime_type=as_text(file.get("mimeType")) or None)
    return text_block(part)


_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
# Tools that the provider runs itself. The call and its result are one item, which becomes its JSON as text.
_HOSTED = {"web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"}
_IMAGE = "image_generation_call"
ITEM_TYPES = {"message", "reasoning", _IMAGE, *_CALLS, *_OUTPUTS, *_HOSTED}
_SYSTEM_ROLES = ("system", "developer")


def item_type(item: JsonObject) -> str:
    """Returns the item's type. An item without a type but with a role is a `message`. Empty if it has neither."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


def is_from_model(item: JsonObject) -> bool:
    """Returns whether the model wrote the item: a message of the assistant, a call or reasoning."""
    kind = item_type(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in ITEM_TYPES - _OUTPUTS


def is_output(item: JsonObject) -> bool:
    """Returns whether the item is a tool's result."""
    return item_type(item) in _OUTPUTS


class ItemReader(PieceReader):
    """Adds items of OpenAI's Responses API to a builder. Consecutive items of one side become one message, which has
    the time of its first item and the id of the first one that has an id."""

    def add_all(self, items: Iterable[JsonObject]) -> None:
        """Adds all items. An item of unknown type is recorded as skipped, by its number from 1."""
        for index, item in enumerate(items, start=1):
            if not self.add(item):
                self._builder.skip(index, f"item {index} has no known type: {item.get('type')!r}", expected=False)
        self.end()

    def add(self, item: JsonObject, timestamp: int = 0) -> bool:
        """Adds one item; `timestamp` is Unix milliseconds. Returns False, and adds nothing, for an unknown type."""
        kind = item_type(item)
        role, blocks = Role.ASSISTANT, list[Block]()
        if kind == "message" and item.get("role") != "assistant":
            self.add_message(item, timestamp)
            return True
        if kind == "message":
            blocks.extend(read_parts(item.get("content")))
        elif kind in _OUTPUTS:
            role = Role.USER
            blocks.append(result_block(_call_id(item), read_result(item.get("output", item.get("tools")))))
        elif kind in _CALLS:
            name = as_text(item.get("name")) or kind.removesuffix("_call")
            arguments = item.get("arguments", item.get("input", item.get("action")))
            blocks.append(call_block(_call_id(item), name, arguments))
        elif kind == "reasoning":
            # The encrypted part is left out, because only OpenAI can read it.
            blocks.extend(thoughts(join_texts([*read_parts(item.get("summary")), *read_parts(item.get("content"))])))
        elif kind == _IMAGE:
            blocks.extend(_read_generated(item))
        elif kind in _HOSTED:
            blocks.append(text_block(item))
        else:
            return False
        own_id = as_text(item.get("id"))
        if self._role is role:
            self._first = self._first[0] or own_id, self._first[1]
        self.piece(role, blocks, own_id, timestamp)
        return True

    @property
    def answering(self) -> bool:
        """Whether items of the model's answer were added that `end` has not yet made a message of."""
        return self._role is Role.ASSISTANT

    def add_message(self, item: JsonObject, timestamp: int = 0) -> str:
        """Adds an item that is a whole message, also one without content. Returns its id."""
        self.end()
        role = Role.SYSTEM if item.get("role") in _SYSTEM_ROLES else Role.USER
        return self._builder.add(role, read_parts(item.get("content")), as_text(item.get("id")), timestamp)


def _call_id(item: JsonObject) -> str:
    return as_text(item.get("call_id")) or as_text(item.get("id"))


def read_result(output: Any) -> tuple[ResultPart, ...]:
    """Converts a tool's output: a text, parts, one part, or an object that has them under `content`."""
    one = as_object(output)
    if one.get("type") in ("input_text", "output_text", "input_image"):
        return read_parts([one])
    if isinstance(one.get("content"), str | list):
        return read_parts(one.get("content"))
    return read_parts(output)


def _read_generated(item: JsonObject) -> list[TextBlock | ImageBlock]:
    """Converts a call by which the provider made a picture: its JSON without the picture, and the picture."""
    facts = {key: value for key, value in item.items() if key != "result"}
    made = as_text(item.get("result"))
    return [text_block(facts), *([ImageBlock(data=made)] if made else [])]
