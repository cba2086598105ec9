"""Converts Anthropic's content blocks, as found in files, into Ullage's."""

from typing import Any

from ullage.formats.parsing import to_json
from ullage.model.blocks import (
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
from ullage.model.message import ToolDefinition

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
    return tuple(
        ToolDefinition(
            name=as_text(tool.get("name")),
            description=as_text(tool.get("description")),
            input_schema=as_object(tool.get("input_schema")),
        )
        for tool in as_objects(tools)
        if as_text(tool.get("name"))
    )


def _read_block(item: Any) -> Block:
    block = as_object(item)
    match block.get("type"):
        case "thinking":
            signature = as_text(block.get("signature")) or None
            return ThinkingBlock(thinking=as_text(block.get("thinking")), signature=signature)
        case "redacted_thinking":
            return ThinkingBlock(thinking="", redacted=as_text(block.get("data")))
        case "tool_use":
            return ToolUseBlock(
                id=as_text(block.get("id")), name=as_text(block.get("name")), input=as_object(block.get("input"))
            )
        case "tool_result":
            return ToolResultBlock(
                tool_use_id=as_text(block.get("tool_use_id")),
                content=_read_result(block.get("content")),
                is_error=block.get("is_error") is True,
            )
        case _:
            return _read_part(item)


def _read_result(content: Any) -> tuple[ResultPart, ...]:
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    if isinstance(content, list):
        return tuple(_read_part(item) for item in as_list(content))
    return () if content is None else (_as_text_block(content),)


def _read_part(item: Any) -> ResultPart:
    block = as_object(item)
    match block.get("type"):
        case "text":
            return TextBlock(text=as_text(block.get("text")))
        case "image":
            return _read_image(block)
        case "document":
            return _read_document(block)
        case _:
            return _as_text_block(item)


def _read_image(block: JsonObject) -> ResultPart:
    source = as_object(block.get("source"))
    if source.get("type") == "url":
        return ImageBlock(url=as_text(source.get("url")))
    if source.get("type") == "base64":
        return ImageBlock(media_type=as_text(source.get("media_type")) or "image/png", data=as_text(source.get("data")))
    return _as_text_block(block)


def _read_document(block: JsonObject) -> ResultPart:
    source = as_object(block.get("source"))
    uri = as_text(source.get("url")) or as_text(block.get("title")) or NAMELESS
    media_type = as_text(source.get("media_type")) or None
    if source.get("type") == "base64":
        return ResourceBlock(uri=uri, mime_type=media_type, data=as_text(source.get("data")))
    if source.get("type") in ("text", "url"):
        return ResourceBlock(uri=uri, text=as_text(source.get("data")) or None, mime_type=media_type)
    return _as_text_block(block)


def _as_text_block(item: Any) -> TextBlock:
    return TextBlock(text=item if isinstance(item, str) else to_json(item))
