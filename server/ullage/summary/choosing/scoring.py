"""The worth of keeping an old message verbatim, instead of summarizing it."""

from collections.abc import Iterator, Sequence

from ullage.agents.results import fenced_command
from ullage.model.blocks import ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.json_values import encode_json
from ullage.model.message import Message, Role
from ullage.summary.checks import Check
from ullage.summary.reading.digest import typed_text
from ullage.summary.reading.excerpts import head_and_tail
from ullage.summary.reading.reader import Reader

_READ_AT_MOST = 8_000


class Judge:
    """Scores messages before a `tail`. Worth keeping are the user's own words, and results with names that the
    agent's messages in the tail still use. A message with a secret must not stay, because a summary would leave the
    secret out."""

    def __init__(self, reader: Reader, check: Check, messages: Sequence[Message], tail: range) -> None:
        self._reader = reader
        self._check = check
        self._messages = messages
        said = (messages[place] for place in tail if messages[place].role is Role.ASSISTANT)
        self._used = frozenset(name for message in said for name in _names(reader, message))

    def worth(self, group: range) -> float:
        """Returns a score from 0 (a summary says as much) to 2. A user's prompt counts 1, because it cannot be had
        again. Names that the tail still uses count up to 1; the first name counts a half."""
        self._check()
        prompts = any(_is_prompt(self._messages, place) for place in group)
        names = (name for place in group for name in _names(self._reader, self._messages[place]))
        shared = len(self._used.intersection(names))
        return prompts + shared / (shared + 1)

    def may_stay(self, group: range) -> bool:
        """Returns whether the group holds no secret."""
        self._check()
        return not any(_holds_secret(self._reader, self._messages[place]) for place in group)


def _names(reader: Reader, message: Message) -> tuple[str, ...]:
    return reader.names(head_and_tail("\n".join(_texts(message)), _READ_AT_MOST))


def _is_prompt(messages: Sequence[Message], place: int) -> bool:
    message = messages[place]
    if message.role is not Role.USER or message.compaction or not typed_text(message):
        return False
    return place == 0 or not fenced_command(messages, place - 1)


def _holds_secret(reader: Reader, message: Message) -> bool:
    text = "\n".join(_texts(message))
    return reader.redact(text) != text


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            yield text_and_resources(block.content)
        elif isinstance(block, ToolUseBlock):
            yield encode_json(block.input).decode()
