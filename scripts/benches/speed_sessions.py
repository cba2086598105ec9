"""The sessions on which all programs are measured: messages of about 90 tokens, in the form that each program takes."""

from typing import Any

from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role

LINES = 5


def texts(start: int, stop: int) -> list[str]:
    """Returns the texts of the messages with these numbers. Each text differs, so that no count comes from a cache."""
    return [
        "\n".join(
            f"step {number}.{line}: read src/module_{(number * 31 + line) % 997}.py and note what it exports"
            for line in range(LINES)
        )
        for number in range(start, stop)
    ]


def ours(start: int, stop: int) -> list[Message]:
    """Returns the messages in Ullage's form."""
    return [
        Message(id=f"m{start + i}", role=role(start + i), content=(TextBlock(text=text),), timestamp=1)
        for i, text in enumerate(texts(start, stop))
    ]


def as_dicts(start: int, stop: int) -> list[dict[str, Any]]:
    """Returns the messages in the form of OpenAI's API, which litellm takes as well."""
    return [{"role": role(start + i).value, "content": text} for i, text in enumerate(texts(start, stop))]


def role(number: int) -> Role:
    """Returns the role of a message: user and assistant in turn."""
    return Role.ASSISTANT if number % 2 else Role.USER
