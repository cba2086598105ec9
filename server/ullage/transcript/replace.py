"""Replaces the contents of one block and keeps its kind and its references to other blocks."""

from msgspec.structs import replace

from ullage.model.blocks import (
    Block,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.edits import Replacement


def replace_block(block: Block, replacement: Replacement) -> Block:
    """Returns the block with the replacement's `text` or `input`, or the unchanged block if its kind has no such
    content.

    An image becomes text. Rewritten thinking loses its signature, because the signature is valid for the old text only.
    """
    if isinstance(block, ToolUseBlock):
        return block if replacement.input is None else replace(block, input=replacement.input)
    if replacement.text is None:
        return block
    return _with_text(block, replacement.text)


def _with_text(block: Block, text: str) -> Block:
    match block:
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=text),))
        case ThinkingBlock():
            return ThinkingBlock(thinking=text)
        case ResourceBlock():
            return replace(block, text=text)
        case ToolUseBlock():
            return block
        case _:
            return TextBlock(text=text)
