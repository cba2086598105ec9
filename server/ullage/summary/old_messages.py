"""The worth of keeping an old message verbatim, instead of summarizing it."""

from collections.abc import Iterator, Sequence

from ullage.agents.results import fenced_command
from ullage.ledger.said import typed_text
from ullage.model.blocks import ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.json_values import encode_json
from ullage.model.message import Message
from ullage.summary.reader import Check, Reader
from ullage.transcript.view import is_prompt


class Judge:
    """Scores old messages for `edits.compaction`. Worth keeping verbatim are the user's own words, which cannot be had
    again. A message with a secret may not be kept, because only a summary redacts the secret."""

    def __init__(self, reader: Reader, check: Check, messages: Sequence[Message], _: range) -> None:
        self._reader = reader
        self._check = check
        self._messages = messages

    def worth(self, group: range) -> float:
        """Returns 1 if the user typed one of the messages at the indices `group`, else 0."""
        self._check()
        return float(any(_is_prompt(self._messages, place) for place in group))

    def may_stay(self, group: range) -> bool:
        """Returns whether the messages at the indices `group` hold no secret. Reads their text, tool inputs and tool
        results."""
        self._check()
        return not any(_holds_secret(self._reader, self._messages[place]) for place in group)


def _is_prompt(messages: Sequence[Message], place: int) -> bool:
    message = messages[place]
    if not is_prompt(message) or message.compaction or not typed_text(message):
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
