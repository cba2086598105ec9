"""The sessions that all programs are measured on, so many messages of about 90 tokens, and each program's own form."""

from typing import Any

from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role

LINES = 5


def texts(start: int, stop: int) -> list[str]:
    """The texts of the messages with these numbers, each different, so that no piece is counted from a cache."""
    return [
        "\n".join(
            f"step {number}.{line}: read src/module_{(number * 31 + line) % 997}.py and note what it exports"
            for line in range(LINES)
        )
        for number in range(start, stop)
    ]


def ours(start: int, stop: int) -> list[Message]:
    """Ullage's messages."""
    return [
        Message(id=f"m{start + i}", role=role(start + i), content=(TextBlock(text=text),), timestamp=1)
        for i, text in enumerate(texts(start, stop))
    ]


def as_dicts(start: int, stop: int) -> list[dict[str, Any]]:
    """Messages as OpenAI's API and litellm take them."""
    return [{"role": role(start + i).value, "content": text} for i, text in enumerate(texts(start, stop))]


def role(number: int) -> Role:
    """Speakers take turns."""
    return Role.ASSISTANT if number % 2 else Role.USER
