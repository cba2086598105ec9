"""Converts parts of Google's Gemini API, as found in files, into Ullage's blocks."""

from collections.abc import Iterable
from typing import Any

from ullage.formats.parsing import to_json
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
from ullage.model.json_values import JsonObject, as_list, as_object, as_text


class PartReader:
    """Converts the parts of one conversation's messages, in the shape of Google's Gemini API, to content blocks.

    Gives ids to calls that have none, and the same ids to their responses: the API pairs those by name and order.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._open: dict[str, list[str]] = {}

    def read(self, content: Any) -> list[Block]:
        """Converts a message's content: a text, a part, or a list of both. A part of unknown kind becomes a text block
        of its JSON."""
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
        return ToolUseBlock(id=call_id, name=name, input=as_object(call.get("args")))

    def _read_response(self, response: JsonObject) -> ToolResultBlock:
        waiting = self._open.get(as_text(response.get("name")), [])
        call_id = as_text(response.get("id")) or (waiting.pop(0) if waiting else "")
        result = as_object(response.get("response"))
        error = result.get("error")
        output = result.get("output", result if error is None else error)
        text = output if isinstance(output, str) else to_json(output)
        parts: list[ResultPart] = [TextBlock(text=text)] if text else []
        parts += [_read_data(as_object(part)) for part in as_list(response.get("parts"))]
        failed = "output" not in result and bool(error)
        return ToolResultBlock(tool_use_id=call_id, content=tuple(parts), is_error=failed)


def _read_data(part: JsonObject) -> ResultPart:
    data, file = as_object(part.get("inlineData")), as_object(part.get("fileData"))
    if as_text(data.get("mimeType")).startswith("image/"):
        return ImageBlock(media_type=as_text(data.get("mimeType")), data=as_text(data.get("data")))
    if data.get("mimeType") == PDF:
        uri = as_text(data.get("displayName")) or "document.pdf"
        return ResourceBlock(uri=uri, mime_type=PDF, data=as_text(data.get("data")))
    if file.get("fileUri"):
        return ResourceBlock(uri=as_text(file.get("fileUri")), mime_type=as_text(file.get("mimeType")) or None)
    return TextBlock(text=to_json(part))
