"""Converts messages of OpenAI's Chat Completions API, as found in files, into Ullage's. Many programs log in this
shape.

Images and documents are `data:` URLs there; this module reads and writes them.
"""

from collections.abc import Iterable
from typing import Any, cast

from ullage.formats.parsing import parse_json, to_json
from ullage.formats.transcripts.anthropic_blocks import read_blocks
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import (
    PDF,
    Block,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role, ToolDefinition

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
        """Adds one message; `timestamp` is Unix milliseconds. Returns its id, or an empty string if its role is unknown
        and nothing was added."""
        role = ROLES.get(as_text(message.get("role")))
        if role is None:
            return ""
        return self._builder.add(role, self._read(message), as_text(message.get("id")), timestamp)

    def _read(self, message: JsonObject) -> list[Block]:
        kind = message.get("role")
        if kind == "tool":
            return _read_results(message)
        if kind == "function":
            call = f"call_{self._legacy_calls}"
            return [ToolResultBlock(tool_use_id=call, content=read_parts(message.get("content")))]
        thinking = _read_thinking(message) if kind == "assistant" else []
        blocks: list[Block] = [*thinking, *read_parts(message.get("content"))]
        refusal = as_text(message.get("refusal"))
        if refusal:
            blocks.append(TextBlock(text=refusal))
        blocks.extend(_read_call(call) for call in as_objects(message.get("tool_calls")))
        legacy = as_object(message.get("function_call"))
        if legacy:
            self._legacy_calls += 1
            blocks.append(_read_call({"id": f"call_{self._legacy_calls}", "function": legacy}))
        return blocks


def read_parts(content: Any) -> tuple[ResultPart, ...]:
    """Converts a message's `content`, a text or a list of parts, to content blocks. A part of unknown type becomes a
    text block of its JSON."""
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    if isinstance(content, list):
        return tuple(_read_part(item) for item in as_list(content))
    return () if content is None else (TextBlock(text=to_json(content)),)


def read_arguments(arguments: Any) -> JsonObject:
    """Returns a tool call's arguments as an object. Text that isn't a JSON object is returned under the key
    `arguments`."""
    if isinstance(arguments, dict):
        return as_object(arguments)
    text = as_text(arguments)
    if not text.strip():
        return {}
    value, problem = parse_json(text.encode("utf-8", "replace"))
    return {"arguments": arguments} if problem or not isinstance(value, dict) else as_object(cast("Any", value))


def read_functions(tools: Any) -> tuple[ToolDefinition, ...]:
    """Converts a request's `tools`: functions in the shape of OpenAI's chat API, or flat as in its Responses API.
    Entries without a name are left out."""
    definitions: list[ToolDefinition] = []
    for tool in as_objects(tools):
        function = as_object(tool.get("function")) or tool
        name = as_text(function.get("name"))
        if name:
            definitions.append(
                ToolDefinition(
                    name=name,
                    description=as_text(function.get("description")),
                    input_schema=as_object(function.get("parameters")),
                )
            )
    return tuple(definitions)


def _read_results(message: JsonObject) -> list[Block]:
    ids = [as_text(item) for item in as_list(message.get("tool_call_ids"))]  # SWE-agent's spelling
    call = as_text(message.get("tool_call_id")) or (ids[0] if ids else "")
    return [ToolResultBlock(tool_use_id=call, content=read_parts(message.get("content")))]


def _read_call(call: JsonObject) -> ToolUseBlock:
    function = as_object(call.get("function")) or as_object(call.get("custom"))
    arguments = function.get("arguments", function.get("input"))
    return ToolUseBlock(id=as_text(call.get("id")), name=as_text(function.get("name")), input=read_arguments(arguments))


def _read_thinking(message: JsonObject) -> list[Block]:
    """Returns the reasoning that gateways add to a message: LiteLLM's `thinking_blocks`, or else DeepSeek's
    `reasoning_content`."""
    blocks = [block for block in read_blocks(message.get("thinking_blocks")) if isinstance(block, ThinkingBlock)]
    text = as_text(message.get("reasoning_content"))
    return [*blocks] if blocks else [ThinkingBlock(thinking=text)] if text else []


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
            return read_image_url(url) if url else TextBlock(text=to_json(item))
        case "file" | "input_file":
            # Chat Completions has the file's fields in an object of their own, the Responses API in the part.
            document = read_file(as_object(part.get("file")) or part)
            return document or TextBlock(text=to_json(item))
        case _:
            return TextBlock(text=item if isinstance(item, str) else to_json(item))


def read_image_url(url: str) -> ImageBlock:
    """Returns an image block for a URL. A base64 `data:` URL becomes the block's media type and data; any other URL is
    kept."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return ImageBlock(media_type=head.removeprefix("data:").removesuffix(";base64") or "image/png", data=data)
    return ImageBlock(url=url)


def image_url(block: ImageBlock) -> str:
    """Returns the URL by which OpenAI accepts an image: the block's own URL, or a `data:` URL with its data."""
    return block.url if block.url is not None else f"data:{block.media_type};base64,{block.data}"


def read_file(file: JsonObject) -> ResourceBlock | None:
    """Returns the document of a part's `filename` and `file_data`. Returns None if it holds no PDF, or only the id of
    an uploaded file."""
    read = read_image_url(as_text(file.get("file_data")))
    if read.data is None or read.media_type != PDF:
        return None
    return ResourceBlock(uri=as_text(file.get("filename")) or "document.pdf", mime_type=PDF, data=read.data)


def write_file(block: ResourceBlock) -> dict[str, str]:
    """Returns a document's `filename` and `file_data`. OpenAI reads the kind of a file from the end of its name."""
    name = block.name if block.name.lower().endswith(".pdf") else f"{block.name}.pdf"
    return {"filename": name, "file_data": f"data:{block.mime_type};base64,{block.data}"}
