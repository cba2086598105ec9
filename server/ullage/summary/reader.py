"""Reads conversations for summaries, and remembers what it has read, for all sessions of a process; says which old
messages are worth keeping word for word."""

from collections.abc import Callable, Iterator, Sequence

from ullage.agents.results import fenced_command
from ullage.ledger.folding import Fold
from ullage.ledger.ledger_entry import Ledger
from ullage.ledger.ledger_page import prepare, standing
from ullage.ledger.said import typed_text
from ullage.model.json_values import encode_json
from ullage.model.message import Message, ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.redaction.clean import redact
from ullage.transcript.view import is_prompt

# Returns if the work shall continue, else raises. Called very often, so it must cost next to nothing.
Check = Callable[[], None]


def go_on() -> None:
    """Does nothing, so the work continues: the check for work that is never abandoned."""


# Conversations whose folds are remembered.
_MOST_FOLDS = 16


class Reader:
    """Remembers the ledgers of the last conversations, so that another message costs what it has in it. Any thread may
    use it."""

    def __init__(self) -> None:
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


def is_worth_keeping(check: Check, messages: Sequence[Message], group: range) -> bool:
    """Returns whether messages that must stay together, by their indices, are worth keeping verbatim: the user typed
    one of them, which cannot be had again, and none has a secret, which only a summary redacts. Read are their texts,
    tool inputs and tool results. `check` is called before."""
    check()
    texts = ("\n".join(_texts(messages[place])) for place in group)
    return any(_is_prompt(messages, place) for place in group) and all(redact(text) == text for text in texts)


def _is_prompt(messages: Sequence[Message], place: int) -> bool:
    message = messages[place]
    if not is_prompt(message) or message.compaction or not typed_text(message):
        return False
    return place == 0 or not fenced_command(messages, place - 1)


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            yield text_and_resources(block.content)
        elif isinstance(block, ToolUseBlock):
            yield encode_json(block.input).decode()
