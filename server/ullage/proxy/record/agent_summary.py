"""Checks a summary that an agent has written for a handover, and adds the user's own messages to it, which must not be
lost."""

from collections.abc import Sequence

from ullage.edits.compaction import SUMMARY_CAP, Summary
from ullage.edits.excerpt import cut_middle, names
from ullage.model.errors import AnswerBroken
from ullage.model.message import Message, Role
from ullage.proxy.record.compactions import archived_messages, ledger_of, window_of
from ullage.proxy.record.session_record import SessionRecord
from ullage.tokens.counter import TokenCounter

# A summary has at least this share of the tokens that it replaces, up to the tokens of a few sentences. A handover
# begins with some ten thousand tokens, and even a terse summary of those has more.
_LEAST_SHARE, _LEAST_TOKENS = 0.02, 80
# Paths, identifiers and figures that the conversation must have before its summary is expected to have one of them.
_FEW_NAMES = 5
# The tokens and the share of the window that the user's messages may take, and the characters of one of them.
_WORDS_CAP, _WORDS_SHARE, _LONGEST = 3_000, 0.05, 2_000
_HEADING = "## The user's messages, verbatim"


def accept(record: SessionRecord, text: str, writer: str) -> Summary:
    """Returns the agent's summary `text` with the user's messages and Ullage's ledger added. `writer` is the agent's
    name.

    Raises `AnswerBroken` if the text cannot be a summary of the conversation (see `check`).
    """
    counter, messages = record.conversation.projection.counter, archived_messages(record)
    check(text, messages, counter)
    room = min(_WORDS_CAP, int(window_of(record) * _WORDS_SHARE))
    said = "\n".join(f"- {each}" for each in own_words(messages, text, room, counter))
    whole = f"{text}\n\n{_HEADING}\n\n{said}" if said else text
    return Summary(text=whole, ledger=ledger_of(record), summarizer=writer)


def check(text: str, messages: Sequence[Message], counter: TokenCounter) -> None:
    """Raises `AnswerBroken` if the text is too short or too long for a summary of the messages, or if it contains none
    of the paths, identifiers and figures that occur in them."""
    tokens, replaced = counter.count(text), counter.count_messages(messages)
    least = min(_LEAST_TOKENS, int(replaced * _LEAST_SHARE))
    if not text.strip() or tokens < least:
        raise AnswerBroken(f"the summary has {tokens} tokens; one of {replaced:,} tokens has at least {least}")
    if tokens > SUMMARY_CAP:
        raise AnswerBroken(f"the summary has {tokens:,} tokens; {SUMMARY_CAP:,} are allowed")
    said = {name for message in messages for name in names(message.text)}
    if len(said) >= _FEW_NAMES and not any(name in text for name in said):
        raise AnswerBroken("the summary names no path, identifier or figure of the conversation")


def own_words(messages: Sequence[Message], text: str, room: int, counter: TokenCounter) -> list[str]:
    """Returns the texts of the user's messages that are not in `text`, in order and in at most `room` tokens.

    The first message is chosen first, then the newest ones until the next doesn't fit. A text of more than 2,000
    characters is cut in the middle.
    """
    said = [cut_middle(message.text.strip(), _LONGEST) for message in messages if message.role is Role.USER]
    wanted = [at for at in (0, *range(len(said) - 1, 0, -1)) if at < len(said) and said[at] and said[at] not in text]
    kept: list[int] = []
    for at in wanted:
        room -= counter.count(said[at])
        if room < 0:
            break
        kept.append(at)
    return [said[at] for at in sorted(kept)]
