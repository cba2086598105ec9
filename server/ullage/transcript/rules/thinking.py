"""Thinking is never parted from what it led to.

Anthropic requires that the thinking that led to a tool use comes back with it; providers that keep reasoning in
messages of its own (OpenAI's Responses) require the item behind it.
"""

from collections.abc import Iterator, Sequence

from ullage.model.blocks import ThinkingBlock
from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Cuts between a message that ends in thinking and the next thing the assistant says."""
    pending: int | None = None
    for i, message in enumerate(messages):
        if message.role is not Role.ASSISTANT:
            continue
        if pending is not None and _follows(messages, pending, i):
            yield range(pending + 1, i + 1)
        ends_thinking = bool(message.content) and isinstance(message.content[-1], ThinkingBlock)
        pending = i if ends_thinking else None


def _follows(messages: Sequence[Message], thought: int, answer: int) -> bool:
    return all(message.role is Role.SYSTEM for message in messages[thought + 1 : answer])
