"""ACP's content blocks as blocks of a transcript."""

from typing import Any

from ullage.model.blocks import Block, ImageBlock, ResourceBlock, TextBlock
from ullage.model.json_values import as_object, as_objects, as_text


def block_of(content: dict[str, Any]) -> Block:
    """A content block; one of a kind that a transcript has no block for is named in words."""
    match content.get("type"):
        case "text":
            return TextBlock(text=as_text(content.get("text")))
        case "image":
            return ImageBlock(
                media_type=as_text(content.get("mimeType")) or "image/png", data=as_text(content.get("data"))
            )
        case "resource_link":
            return ResourceBlock(uri=as_text(content.get("uri")))
        case "resource":
            resource = as_object(content.get("resource"))
            text = resource.get("text")
            return ResourceBlock(uri=as_text(resource.get("uri")), text=text if isinstance(text, str) else None)
        case kind:
            return TextBlock(text=f"[{kind}]")


def blocks_of(prompt: Any) -> tuple[Block, ...]:
    """A prompt's content blocks."""
    return tuple(block_of(content) for content in as_objects(prompt))


def text_of(prompt: Any) -> str:
    """The first text of a prompt, where a slash command would stand."""
    return next((as_text(part.get("text")) for part in as_objects(prompt) if part.get("type") == "text"), "")
