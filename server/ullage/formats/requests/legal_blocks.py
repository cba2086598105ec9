"""Converts blocks into blocks that providers accept.

Other kinds of blocks become readable text; empty text is left out.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec.structs import replace

from ullage.formats.image_urls import read_image_url
from ullage.formats.parsing import clean_text, to_json
from ullage.formats.provided import provided_for
from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.json_values import as_list, as_object
from ullage.model.marker import render_marker
from ullage.model.message import Message, Role

# The media types that Anthropic accepts; OpenAI accepts the same.
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
# OpenAI's limit for a function's name, in characters; Anthropic's is 128.
_LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def legal_blocks(role: Role, blocks: Iterable[Block], format_name: str, *, thinking: bool) -> list[Block]:
    """Returns a message's blocks as kinds that providers accept in this role: text, images, documents, tool uses and
    tool results. Other kinds, or kinds that the role may not have, become text. Each block keeps only the fields of the
    format `format_name`.

    If `thinking` is true, an assistant's signed or encrypted thinking is kept. Other thinking is left out.
    """
    legal: list[Block] = []
    for block in blocks:
        if isinstance(block, ThinkingBlock):
            if thinking and role is Role.ASSISTANT and (block.signature or block.redacted):
                legal.append(_legal_thinking(block))
        elif is_own_kind(block, format_name):
            legal.append(block)
        elif isinstance(block, ToolUseBlock) and role is Role.ASSISTANT:
            legal.append(_legal_use(block, format_name))
        elif isinstance(block, ToolResultBlock) and role is not Role.SYSTEM:
            legal.append(_legal_result(block, format_name))
        elif isinstance(block, ImageBlock) and role is Role.USER:
            legal.append(_legal_image(block, format_name))
        elif isinstance(block, ResourceBlock) and block.is_document and role is Role.USER:
            legal.append(_legal_document(block, format_name))
        else:
            legal.extend(_as_text(block, format_name))
    return legal


def writable(message: Message, kinds: tuple[type[Block], ...], format_name: str) -> Iterator[Block]:
    """Yields a message's blocks: unchanged if they are of one of `kinds`, are documents or were kept whole for this
    format, else as text."""
    for block in message.content:
        is_document = isinstance(block, ResourceBlock) and block.is_document
        if isinstance(block, kinds) or is_document or is_own_kind(block, format_name):
            yield block
        else:
            yield from _as_text(block, format_name)


def is_own_kind(block: Block, format_name: str) -> bool:
    """Returns whether the block was kept whole for this format when it was read, because only this format has such a
    block. It is then written as it came."""
    own = None if isinstance(block, CompactionBlock) else provided_for(block.provided, format_name)
    return own is not None and own.whole


def legal_name(name: str) -> str:
    """Returns a tool's name with `_` for each character that providers refuse, cut to 64 characters; `tool` for an
    empty name."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "tool"


def describe_data(block: ResourceBlock) -> str:
    """Returns what a model is sent instead of content that its provider does not take."""
    pdf = "documents cannot be sent to this model"
    why = pdf if block.is_document else "models take text, pictures and PDF documents"
    return f"[The content of {block.title} is not shown to you: {why}.]"


def without_documents(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Returns the messages for a provider that takes no documents: with a sentence in place of each."""
    return tuple(
        replace(message, content=tuple(map(_without_document, message.content)), provided=None)
        if any(_has_document(block) for block in message.content)
        else message
        for message in messages
    )


def _has_document(block: Block) -> bool:
    parts = block.content if isinstance(block, ToolResultBlock) else (block,)
    return any(isinstance(part, ResourceBlock) and part.is_document for part in parts)


def _without_document(block: Block) -> Block:
    if isinstance(block, ToolResultBlock) and _has_document(block):
        return replace(block, content=tuple(map(_part_without_document, block.content)))
    return _part_without_document(block) if isinstance(block, TextBlock | ImageBlock | ResourceBlock) else block


def _part_without_document(part: ResultPart) -> ResultPart:
    if isinstance(part, ResourceBlock) and part.is_document:
        return TextBlock(text=describe_data(part))
    return part


def orphan_blocks(result: ToolResultBlock) -> list[Block]:
    """Returns a tool result whose call is not in the context as plain blocks: a line with the call's id, then the
    content of the result."""
    call = clean_text(result.tool_use_id)
    return [TextBlock(text=f"[Result of tool call {call}, which is not in this context]"), *result.content]


def _legal_thinking(block: ThinkingBlock) -> ThinkingBlock:
    # A signature covers the text, so the text must stay as it is.
    if block.redacted:
        return ThinkingBlock(thinking="", redacted=block.redacted)
    return ThinkingBlock(thinking=block.thinking, signature=block.signature)


def _legal_use(block: ToolUseBlock, format_name: str) -> ToolUseBlock:
    return ToolUseBlock(
        id=clean_text(block.id),
        name=legal_name(block.name),
        input=_legal_input(block.input),
        provided=provided_for(block.provided, format_name),
    )


def _legal_result(block: ToolResultBlock, format_name: str) -> ToolResultBlock:
    parts: list[ResultPart] = []
    for part in block.content:
        if is_own_kind(part, format_name):
            parts.append(part)
        elif isinstance(part, ImageBlock):
            parts.append(_legal_image(part, format_name))
        elif isinstance(part, ResourceBlock) and part.is_document:
            parts.append(_legal_document(part, format_name))
        else:
            parts.extend(_as_text(part, format_name))
    return ToolResultBlock(
        tool_use_id=block.tool_use_id,
        content=tuple(parts),
        is_error=block.is_error,
        provided=provided_for(block.provided, format_name),
    )


def _legal_image(block: ImageBlock, format_name: str) -> ImageBlock | TextBlock:
    image = read_image_url(block.url) if block.url and not block.data else block
    provided = provided_for(block.provided, format_name)
    if image.data and image.media_type in IMAGE_TYPES:
        return ImageBlock(media_type=image.media_type, data=image.data, provided=provided)
    if image.url and image.url.startswith(("https://", "http://")):
        return ImageBlock(url=clean_text(image.url), provided=provided)
    return TextBlock(text=_describe_image(block))


def _legal_document(block: ResourceBlock, format_name: str) -> ResourceBlock:
    return ResourceBlock(
        uri=clean_text(block.uri),
        mime_type=block.mime_type,
        data=block.data,
        provided=provided_for(block.provided, format_name),
    )


def _describe_image(block: ImageBlock) -> str:
    return f"[Image, {clean_text(block.media_type)}, not shown]"


def _as_text(block: Block, format_name: str) -> list[TextBlock]:
    text = clean_text(_render(block))
    provided = provided_for(block.provided, format_name) if isinstance(block, TextBlock) else None
    return [TextBlock(text=text, provided=provided)] if text.strip() else []


def _render(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case CompactionBlock():
            return render_marker(block)
        case ResourceBlock(data=str(data)) if data:
            return describe_data(block)
        case ResourceBlock():
            return f"[Resource {block.uri}]" if block.text is None else f"[Resource {block.uri}]\n{block.text}"
        case ImageBlock():
            return _describe_image(block)
        case _:
            return _render_tool(block)


def _render_tool(block: ThinkingBlock | ToolUseBlock | ToolResultBlock) -> str:
    """Returns tool calls and results as text, for a role that may not have them. Thinking becomes empty text."""
    match block:
        case ToolUseBlock():
            return f"[Call of tool {block.name}: {to_json(block.input)}]"
        case ToolResultBlock():
            return "\n".join(_render(part) for part in orphan_blocks(block))
        case ThinkingBlock():
            return ""


def _legal_input(value: dict[str, Any]) -> dict[str, Any]:
    return as_object(_legal_value(value))


def _legal_value(value: Any) -> Any:
    """Returns a value that can be written as JSON in UTF-8: NaN and infinities become text, lone surrogates U+FFFD."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [_legal_value(item) for item in as_list(list(cast("Iterable[Any]", value)))]
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {clean_text(str(key)): _legal_value(item) for key, item in items}
    return value
