"""Simple ways to carry a context over a cut, to compare others with."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.results import tool_results
from ullage.model.blocks import TextBlock, ToolResultBlock
from ullage.model.message import Message
from ullage.tokens.counter import TokenCounter

MASK = TextBlock(text="[old tool result cleared]")


def tail(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Returns the newest messages that fit into `budget` tokens together."""
    kept: list[Message] = []
    for message in reversed(messages):
        budget -= counter.count_message(message)
        if budget < 0:
            break
        kept.insert(0, message)
    return kept


def masking(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Clears results, the oldest first, until the messages fit into `budget` tokens. If they never do, returns the tail
    of what is left."""
    masked = list(messages)
    used = sum(map(counter.count_message, masked))
    for position in dict.fromkeys(result.position for result in tool_results(messages)):
        if used <= budget:
            break
        cleared = _cleared(masked[position])
        used += counter.count_message(cleared) - counter.count_message(masked[position])
        masked[position] = cleared
    return masked if used <= budget else tail(masked, budget, counter)


def _cleared(message: Message) -> Message:
    """Returns a message without the contents of its results. An agent without tool calls gets results as text."""
    if not any(isinstance(block, ToolResultBlock) for block in message.content):
        return replace(message, content=(MASK,))
    content = (replace(b, content=(MASK,)) if isinstance(b, ToolResultBlock) else b for b in message.content)
    return replace(message, content=tuple(content))
