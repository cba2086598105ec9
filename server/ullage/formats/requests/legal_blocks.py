"""Converts blocks into blocks that providers accept.

Other kinds of blocks become readable text; empty text is left out.
"""

import math
import re
from collections.abc import Iterable
from typing import Any, cast

from ullage.formats.parsing import clean_text, to_json
from ullage.formats.transcripts.chat import read_image_url
from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.json_values import as_list, as_object
from ullage.model.marker import render_marker
from ullage.model.message import Role

# The media types that Anthropic accepts; OpenAI accepts the same.
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
# OpenAI's limit for a function's name, in characters; Anthropic's is 128.
_LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def legal_blocks(role: Role, blocks: Iterable[Block], *, thinking: bool) -> list[Block]:
    """Returns a message's blocks as text, images, tool uses and tool results.

    If `thinking` is true, an assistant's signed or encrypted thinking is kept. Other thinking is left out.
    """
    legal: list[Block] = []
    for block in blocks:
        if isinstance(block, ThinkingBlock):
            if thinking and role is Role.ASSISTANT and (block.signature or block.redacted):
                legal.append(_legal_thinking(block))
        elif isinstance(block, ToolUseBlock) and role is Role.ASSISTANT:
            legal.append(
                ToolUseBlock(id=clean_text(block.id), name=legal_name(block.name), input=_legal_input(block.input))
            )
        elif isinstance(block, ToolResultBlock) and role is not Role.SYSTEM:
            legal.append(_legal_result(block))
        elif isinstance(block, ImageBlock) and role is Role.USER:
            legal.append(_legal_image(block))
        else:
            legal.extend(_as_text(block))
    return legal


def legal_name(name: str) -> str:
    """Returns a tool's name with `_` for each character that providers refuse, cut to 64 characters."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "tool"


def image_url(block: ImageBlock) -> str:
    """Returns an image as OpenAI accepts it: its URL, or a `data:` URL with its data."""
    return block.url if block.url is not None else f"data:{block.media_type};base64,{block.data}"


def orphan_blocks(result: ToolResultBlock) -> list[Block]:
    """Returns a tool result whose call is missing as plain content.

    The content is a line with the call's id, then the content of the result.
    """
    call = clean_text(result.tool_use_id)
    return [TextBlock(text=f"[Result of tool call {call}, which is not in this context]"), *result.content]


def _legal_thinking(block: ThinkingBlock) -> ThinkingBlock:
    # A signature covers the text, so the text must stay as it is.
    if block.redacted:
        return ThinkingBlock(thinking="", redacted=block.redacted)
    return ThinkingBlock(thinking=block.thinking, signature=block.signature)


def _legal_result(block: ToolResultBlock) -> ToolResultBlock:
    parts: list[TextBlock | ImageBlock] = []
    for part in block.content:
        if isinstance(part, ImageBlock):
            parts.append(_legal_image(part))
        else:
            parts.extend(_as_text(part))
    return ToolResultBlock(tool_use_id=block.tool_use_id, content=tuple(parts), is_error=block.is_error)


def _legal_image(block: ImageBlock) -> ImageBlock | TextBlock:
    image = read_image_url(block.url) if block.url and not block.data else block
    if image.data and image.media_type in IMAGE_TYPES:
        return ImageBlock(media_type=image.media_type, data=image.data)
    if image.url and image.url.startswith(("https://", "http://")):
        return ImageBlock(url=clean_text(image.url))
    return TextBlock(text=_describe_image(block))


def _describe_image(block: ImageBlock) -> str:
    return f"[Image, {clean_text(block.media_type)}, not shown]"


def _as_text(block: Block) -> list[TextBlock]:
    text = clean_text(_render(block))
    return [TextBlock(text=text)] if text.strip() else []


def _render(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case CompactionBlock():
            return render_marker(block)
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
