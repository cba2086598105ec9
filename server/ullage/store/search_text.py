"""What of a message can be found by words, and what a person's words mean to the index."""

from collections.abc import Iterator
from typing import Any, cast

from ullage.model.blocks import Block, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import InvalidRequest
from ullage.model.message import Message

# Characters of one block that are indexed: more than a screenful of any tool's output, yet a pasted log of
# megabytes neither doubles the store nor stalls a search that has to index it.
BLOCK_CHARS = 32_768


def message_text(message: Message) -> str:
    """Text, tool inputs, tool results and resources of a message, each block up to `BLOCK_CHARS`."""
    return "\n".join(text for block in message.content if (text := _block_text(block)[:BLOCK_CHARS]))


def query_words(query: str) -> tuple[str, ...]:
    """The words of a query, those without a letter or digit left out, for the index knows only those. Raises
    `InvalidRequest` if none is left."""
    words = tuple(word for word in query.replace("\0", " ").split() if any(char.isalnum() for char in word))
    if not words:
        raise InvalidRequest(f"nothing to search for in {query!r}: give at least one word")
    return words


def _block_text(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return "\n".join((block.name, *_leaves(block.input)))
        case ToolResultBlock():
            return "\n".join(_block_text(part) for part in block.content)
        case ResourceBlock():
            return "\n".join((block.uri, block.text or ""))
        case _:
            return ""


def _leaves(value: Any) -> Iterator[str]:
    """The values in a tool's input. Its keys repeat with every call and would drown what differs."""
    if isinstance(value, dict):
        yield from _leaves([*cast("dict[str, Any]", value).values()])
    elif isinstance(value, list):
        yield from (leaf for item in cast("list[Any]", value) for leaf in _leaves(item))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
