"""The searchable text of a message, in chunks small enough that a single line has weight."""

from collections.abc import Iterator
from typing import Any, cast

from ullage.model.blocks import Block, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message

# Characters of one block that are indexed, half from its head and half from its tail. This covers everything that a
# tool usually returns, while a pasted log of megabytes neither doubles the store nor stalls the search that indexes it.
BLOCK_CHARS = 524_288
# Characters of a chunk. BM25 weighs a word by its share of the row, and in a row of this length a few lines still have
# a share that counts.
CHUNK_CHARS = 2_000


def message_text(message: Message) -> str:
    """Returns the searchable text of a message: its texts, tool inputs, tool results and resources. Of a block with
    more than `BLOCK_CHARS` characters only the beginning and the end are included."""
    return "\n".join(text for block in message.content if (text := _bounded(_block_text(block))))


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the stop of each chunk of a text: about `CHUNK_CHARS` characters, in whole lines if
    possible."""
    start = 0
    while start < len(text):
        stop = start + CHUNK_CHARS
        if stop < len(text):
            # A chunk is at least half full, however long the lines are.
            line = text.rfind("\n", start + CHUNK_CHARS // 2, stop)
            stop = line + 1 if line >= 0 else stop
        yield start, min(stop, len(text))
        start = stop


def _bounded(text: str) -> str:
    if len(text) <= BLOCK_CHARS:
        return text
    half = BLOCK_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


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
    """Yields the values in a tool's input as text, without the keys. Keys repeat with every call and would outweigh the
    values. However deep the input is nested, this must not fail: no session could be searched any more."""
    waiting = [value]
    while waiting:
        next_value = waiting.pop()
        if isinstance(next_value, dict):
            waiting += reversed([*cast("dict[str, Any]", next_value).values()])
        elif isinstance(next_value, list):
            waiting += reversed(cast("list[Any]", next_value))
        elif isinstance(next_value, str | int | float) and not isinstance(next_value, bool):
            yield str(next_value)
