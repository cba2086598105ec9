"""Passages of messages, as `search` shows them: the part of a message around the words that match, and where the
message calls a tool also how the result begins and ends."""

import re
from collections.abc import Container, Iterator
from itertools import islice

from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.redaction.clean import clean
from ullage.redaction.quoting import quoted
from ullage.service.archive.recall import block_lines, message_lines
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import Entry, read_entries

# Characters of a passage before the place that matches.
_BEFORE = 160
# Characters of the beginning and of the end of a result. What a file is shows its beginning, how a command ended shows
# its end.
_BEGINS, _ENDS = 80, 110
_RESULTS = 2
_MATCH = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def passage(entry: Entry, snippet: str, length: int) -> Iterator[str]:
    """Yields a message's text around the match that a search hit's `snippet` marks, at most `length` characters of it,
    as lines of a quotation."""
    yield from quoted(around("\n".join(message_lines(entry.message)), snippet, length))


def around(text: str, snippet: str, length: int) -> str:
    """Returns a text around the match that a search hit's `snippet` marks, at most `length` characters of it."""
    # The whole text is cleaned before the passage is cut: half a key is not known as a key.
    text = clean(text)
    start = max(0, _place(text, snippet) - min(_BEFORE, length // 3))
    start = text.rfind("\n", 0, start) + 1 if text.rfind("\n", 0, start) >= start - _BEFORE else start
    return text[start : start + length]


def results_of(conversation: Conversation, entry: Entry, shown: Container[str]) -> Iterator[str]:
    """Yields how the results of the tools begin and end that a message calls, as lines of a quotation: of two results
    at most. Yields nothing if it calls none, if the next message has no result, or if its id is one of `shown`."""
    calls = {block.id for block in entry.message.content if isinstance(block, ToolUseBlock)}
    if not calls or entry.index + 1 >= conversation.transcript.messages:
        return
    (after,) = read_entries(conversation, entry.index + 1, entry.index + 2)
    if after.message.id in shown:
        return
    blocks = (block for block in after.message.content if isinstance(block, ToolResultBlock))
    for block in islice((block for block in blocks if block.tool_use_id in calls), _RESULTS):
        text = " ".join(clean("\n".join(block_lines(block))).split())
        whole = len(text) <= _BEGINS + _ENDS + 3
        yield from quoted(text if whole else f"{text[:_BEGINS]} … {text[-_ENDS:]}")


def _place(text: str, snippet: str) -> int:
    """Returns where in a message's text the passage of a search hit begins, 0 if it isn't found. The text may be
    cleaned, so the words around the match need not be there."""
    marked = _MATCH.search(snippet)
    if marked is None:
        return 0
    before, after = snippet[: marked.start()].rpartition("\n")[2][-20:], snippet[marked.end() :].partition("\n")[0][:20]
    for wanted in (f"{before}{marked[1]}{after.partition('**')[0]}", marked[1]):
        if (place := text.lower().find(wanted.lower())) >= 0:
            return place
    return 0
