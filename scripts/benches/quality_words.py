"""How many of the user's messages are still in a context word for word.

What the user typed is the text of a user message without what agents and editors put into it (`agents/inserted.py`)
that isn't the output of a command which the agent wrote into its text, and what the user said in refusing a call, which
Claude Code puts into the call's result. A message is kept if its whole text is in the context, apart from line breaks,
and not as a part of a longer word. A text of fewer than three words could be there by chance, so it must be all of a
line, apart from a list mark, a message number and quotes.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ullage.agents.inserted import is_summary, is_typed, without_inserted
from ullage.model.blocks import TextBlock, ToolResultBlock
from ullage.model.message import Message, Role
from ullage.tokens.counter import TokenCounter

# The share of the room that all of the user's words together may take and still be called for in full.
SHARE_OF_ROOM = 1 / 3
_FEWEST_WORDS = 3
_REFUSED = re.compile(r"^The user doesn't want to .*?the user said:\s*(.+?)(?:\n\nNote: .*)?$", re.DOTALL)
# Agents without tool calls end their text with a command in a fence; the next message is its output.
_COMMAND, _OUTPUT = re.compile(r"```\s*$"), re.compile(r"\s*<(?:returncode|output)>")
_SPACES = re.compile(r"\s+")
_FRAME = r"[\s>*•-]*(?:\d+[.)] )?(?:#\d+ )?(?:\[user\] )?[\"“'`]?"


class Words(Struct, frozen=True, kw_only=True):
    """The user's messages before a cut: how many there are, and how many a context has word for word. `fits` is true if
    together they take no more than a third of the room. `last` is true if the newest is kept."""

    messages: int
    kept: int
    fits: bool
    last: bool


def measure_words(messages: Sequence[Message], context: str, room: int, counter: TokenCounter) -> Words:
    """Returns which of the user's messages are in `context`, a text of at most `room` tokens."""
    typed = list(typed_texts(messages))
    # A message that stays has what its agent put around the user's words.
    context = without_inserted(context)
    flat = _flat(context)
    kept = [_holds(context, flat, text) for text in typed]
    return Words(
        messages=len(typed),
        kept=sum(kept),
        fits=sum(counter.count(text) for text in typed) <= room * SHARE_OF_ROOM,
        last=kept[-1] if kept else True,
    )


def typed_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yields the text of each message that the user typed, oldest first. The same text again is not a message of its
    own."""
    seen: set[str] = set()
    for before, message in pairwise([None, *messages]):
        if message is None or message.role is not Role.USER or message.compaction or is_summary(message.text):
            continue
        if before and before.role is Role.ASSISTANT and _OUTPUT.match(message.text) and _COMMAND.search(before.text):
            continue
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        text = "\n".join(_refusals(results)) if results else _typed(message)
        if text and (key := _flat(text)) not in seen:
            seen.add(key)
            yield text


def _typed(message: Message) -> str:
    texts = (without_inserted(block.text) for block in message.content if isinstance(block, TextBlock))
    return "\n".join(text.strip() for text in texts if text.strip() and is_typed(text))


def _refusals(results: Sequence[ToolResultBlock]) -> Iterator[str]:
    for part in (part for result in results for part in result.content):
        if isinstance(part, TextBlock) and (said := _REFUSED.match(part.text.strip())):
            yield said[1].strip()


def _holds(context: str, flat: str, text: str) -> bool:
    wanted = _flat(text)
    if len(wanted.split()) < _FEWEST_WORDS:
        return re.search(rf"^{_FRAME}{re.escape(wanted)}[\"”'`]?\s*$", context, re.MULTILINE) is not None
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", flat) is not None


def _flat(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
