"""Thinking must stay together with what it led to.

Anthropic requires that the thinking which led to a tool use is sent back with it. Providers that keep reasoning in
items of its own (OpenAI's Responses) require the item that follows it.
"""

from collections.abc import Iterator, Sequence

from ullage.model.blocks import ThinkingBlock
from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Yields ranges of forbidden cuts: those between an assistant's message that ends in thinking and the next message
    of the assistant, if only system messages are between them."""
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
