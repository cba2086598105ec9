"""Counts the messages of new events: off the event loop if that takes long."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from ullage.model.blocks import ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import Event, MessageAppended
from ullage.model.json_values import JsonObject
from ullage.model.message import Message
from ullage.service.conversation.projection import Projection

# Characters. Counting this much text takes about 50 ms; longer text is counted in a thread, so that the event loop
# stays free.
_COUNT_INLINE_CHARS = 200_000
# A block without text takes as long to count as so many characters.
_CHARS_OF_BLOCK = 100


async def counted(projection: Projection, events: Sequence[Event]) -> list[Event]:
    """Returns the events, each message with its local count. Long messages are counted in a thread."""
    chars = sum(counting_work(event.message) for event in events if isinstance(event, MessageAppended))
    if chars > _COUNT_INLINE_CHARS:
        return await asyncio.to_thread(_with_counts, projection, events)
    return _with_counts(projection, events)


def _with_counts(projection: Projection, events: Sequence[Event]) -> list[Event]:
    return [
        replace(event, count=projection.count(event.message)) if isinstance(event, MessageAppended) else event
        for event in events
    ]


def counting_work(message: Message) -> int:
    """Returns how long counting a message takes, in characters of text: those of its texts, resources, tool calls and
    results, and more for each block."""
    chars = 0
    for block in message.content:
        for part in block.content if isinstance(block, ToolResultBlock) else (block,):
            chars += _CHARS_OF_BLOCK
            if isinstance(part, TextBlock | ResourceBlock):
                chars += len(part.text or "")
            elif isinstance(part, ToolUseBlock):
                chars += _chars_in(part.input)
    return chars


def _chars_in(value: Any) -> int:
    """Returns the number of characters of all texts in a value of JSON, and more for each value."""
    chars = 0
    left: list[Any] = [value]
    while left:
        match part := left.pop():
            case str():
                chars += len(part)
            case dict():
                left += cast("JsonObject", part).values()
            case list() | tuple():
                left += cast("Sequence[Any]", part)
            case _:
                chars += 1
    return chars
