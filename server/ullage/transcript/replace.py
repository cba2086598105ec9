"""Replaces the contents of one block and keeps its kind and its references to other blocks."""

from msgspec.structs import replace

from ullage.model.blocks import (
    Block,
    Provided,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.edits import Replacement

# The fields of the providers' formats that hold content, or speak of places in it.
_CONTENT = frozenset({"content", "function", "input", "citations", "text"})


def replace_block(block: Block, replacement: Replacement) -> Block:
    """Returns the block with the replacement's content: `input` for a tool use, `text` for every other kind of block.
    Returns the block unchanged if the replacement lacks that content.

    An image becomes a text block. Thinking loses its signature, because the signature is valid for the old text only.
    """
    if isinstance(block, ToolUseBlock):
        if replacement.input is None:
            return block
        return replace(block, input=replacement.input, provided=without_content(block.provided))
    if replacement.text is None:
        return block
    return _with_text(block, replacement.text)


def _with_text(block: Block, text: str) -> Block:
    match block:
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=text),), provided=without_content(block.provided))
        case ThinkingBlock():
            return ThinkingBlock(thinking=text)
        case ResourceBlock():
            return replace(block, text=text, data=None, provided=without_content(block.provided))
        case ToolUseBlock():
            return block
        case _:
            return TextBlock(text=text)


def without_content(provided: Provided | None) -> Provided | None:
    """Returns a provider's own fields without those that hold the block's content or refer to places in it, because the
    content was replaced. Returns None if no field is left."""
    if provided is None or provided.whole:
        return None
    fields = {name: value for name, value in provided.fields.items() if name not in _CONTENT}
    return replace(provided, fields=fields) if fields else None
