"""The worth of keeping an old message verbatim, instead of summarizing it."""

from collections.abc import Iterator, Sequence

from ullage.agents.results import fenced_command
from ullage.model.blocks import ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.json_values import encode_json
from ullage.model.message import Message, Role
from ullage.summary.checks import Check
from ullage.summary.reading.message_names import names_in
from ullage.summary.reading.spoken import typed_text
from ullage.summary.reading.text_reader import Reader
from ullage.transcript.rules.tool_pairs import is_prompt


class Judge:
    """Scores the old messages before a `tail` (a range of indices) for `edits.compaction`. Worth keeping verbatim are
    the user's own words, and messages with anchors that the assistant's messages in the tail still use. A message with
    a secret may not be kept, because only a summary redacts the secret."""

    def __init__(self, reader: Reader, check: Check, messages: Sequence[Message], tail: range) -> None:
        self._reader = reader
        self._check = check
        self._messages = messages
        said = (messages[place] for place in tail if messages[place].role is Role.ASSISTANT)
        self._used = frozenset(name for message in said for name in names_in(reader, message))

    def worth(self, group: range) -> float:
        """Returns a score of the messages at the indices `group`, from 0 (a summary says as much) to below 2. A user's
        prompt counts 1, because it cannot be had again. Anchors that the assistant's messages in the tail use count
        n / (n + 1) for n anchors: a half for the first, never quite 1."""
        self._check()
        prompts = any(_is_prompt(self._messages, place) for place in group)
        first, *others = [self._used & names_in(self._reader, self._messages[place]) for place in group]
        shared = len(first.union(*others))
        return prompts + shared / (shared + 1)

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
