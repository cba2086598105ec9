"""Reads conversations for summaries, and remembers what it has read, for all sessions of a process; says which old
messages are worth keeping word for word."""

import sys
from collections.abc import Callable, Iterator, Sequence

from ullage.agents.results import fenced_command
from ullage.ledger.folding import Fold
from ullage.ledger.ledger_entry import Ledger
from ullage.ledger.ledger_page import prepare, standing
from ullage.ledger.remembering import remembering
from ullage.ledger.said import typed_text
from ullage.model.json_values import encode_json
from ullage.model.message import Message, ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.redaction.clean import redact
from ullage.transcript.view import is_prompt

# Returns if the work shall continue, else raises. Called very often, so it must cost next to nothing.
Check = Callable[[], None]


def go_on() -> None:
    """Does nothing, so the work continues: the check for work that is never abandoned."""


# Bytes of text, at least half of which stay: the largest windows hold two million tokens, 8 MB of English.
ROOM = 16_000_000
# Bytes of what remembers a text, in addition to the text.
_ENTRY = 150
# Conversations whose folds are remembered.
_MOST_FOLDS = 16


class Reader:
    """Remembers texts without their secrets, up to `room` bytes of text, and the ledgers of the last conversations, so
    that another message costs what it has in it. May be used from any thread."""

    def __init__(self, room: int = ROOM) -> None:
        self.redact = remembering(room, _memory_of)(redact)
        self._folds: dict[str, Fold] = {}

    def ledger(  # noqa: PLR0913 - what is folded, and what is asked of it
        self,
        messages: Sequence[Message],
        indices: Sequence[int],
        *,
        conversation: str = "",
        cwd: str = "",
        focus: frozenset[str] = frozenset(),
        check: Check = go_on,
    ) -> Ledger:
        """Returns the ledger of messages with these indices in the transcript, with the agent's words as `Fold.ledger`
        does. Of a `conversation` that was read before and continues with these messages, only the new ones are folded.
        `check` is called before each; its exception ends the work, and what was folded stays remembered."""
        # While a thread uses a fold no other has it: one that asks for it meanwhile folds the conversation again.
        known = self._folds.pop(conversation, None) if conversation else None
        ids = [message.id for message in messages]
        if known is None or known.cwd != cwd or known.ids != ids[: len(known.ids)]:
            known = Fold(cwd)
        try:
            known.take_all(messages[len(known.ids) :], indices[len(known.ids) :], check)
            return known.ledger(focus)
        finally:
            if conversation:
                self._keep(conversation, known)

    def go_on(
        self, conversation: str, messages: Sequence[Message], indices: Sequence[int], *, cwd: str, check: Check
    ) -> None:
        """Folds messages of a conversation ahead, if they are its first, or follow those that were folded, and prepares
        the lines of its page. `check` is called before each message; its exception ends the work."""
        known = self._folds.pop(conversation, None) or Fold(cwd)
        try:
            if known.cwd == cwd and known.end == indices[0]:
                known.take_all(messages, indices, check)
                prepare(standing(known.ledger()), cwd)
        finally:
            self._keep(conversation, known)

    def _keep(self, conversation: str, folded: Fold) -> None:
        self._folds[conversation] = folded
        for oldest in list(self._folds)[:-_MOST_FOLDS]:
            self._folds.pop(oldest, None)


def _memory_of(text: str) -> int:
    # A text outside of Latin takes two to four bytes a character.
    return sys.getsizeof(text) + _ENTRY


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
