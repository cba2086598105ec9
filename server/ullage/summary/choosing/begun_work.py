"""Work that the agent began and that continued by itself: sub-agents, and commands in the background."""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from ullage.agents.calls_begun import Begun, BegunKind
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section, joined
from ullage.summary.choosing.sentences import telling
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import cut_at_space, prose

# A summary shows what is known of the newest work; the archive has the rest.
_MOST_SHOWN, _MOST_ANSWERS = 8, 4
# Characters.
_WHAT_LIMIT, _ANSWER_READ, _ANSWER_LIMIT = 100, 6_000, 300
_CONCLUSION = re.compile(
    r"^#+ .{0,40}(?:summary|conclusion|findings|recommendation|result|verdict|answer).{0,40}$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
_CODE_LINE = re.compile(r"[{};]\s*$|^\s*(?:func|def|class|import|//|#include)\b|:= ")


def begun_work(digest: Digest) -> Iterator[Item]:
    """Yields all work that still runs, and the newest sub-agents: a lone one with the beginning of its answer, several
    in one item for each status, with the ids by which the agent asks for their output again, and then the beginnings of
    the newest answers."""
    begun = [*digest.begun, *(digest.after.begun if digest.after else ())]
    ends = {one.name: one for one in begun if one.name and one.ended >= 0}
    for one in [one for one in begun if one.ended < 0 and one.name not in ends][-_MOST_SHOWN:]:
        name = f" ({one.name})" if one.name.strip("?") else ""
        yield _item(f"Still running, {one.kind}{name}: {_what(one)}", one.index)
    agents = [ends.get(one.name, one) for one in begun if one.kind is BegunKind.SUB_AGENT]
    ended = [one for one in agents if one.ended >= 0][-_MOST_SHOWN:]
    for status in dict.fromkeys(one.status for one in ended) if len(ended) > 1 else ():
        alike = [one for one in ended if one.status == status]
        named = "; ".join(_called(one) + _what(one) for one in alike)
        yield _item(f"Sub-agent tasks {status}: {named}", alike[-1].index)
    for one in ended[-_MOST_ANSWERS:]:
        answer = _answer(one.result)
        if len(ended) == 1:
            said = f"; it said: {answer}" if answer else ""
            yield _item(f"Sub-agent {_called(one)}{one.status}: {_what(one)}{said}", one.index)
        elif answer:
            yield replace(_item(f"Sub-agent on {_what(one)}: {answer}", one.index), order=1)


def _called(begun: Begun) -> str:
    return f"{begun.name} " if begun.name.strip("?") else ""


def _what(begun: Begun) -> str:
    return cut_at_space(" ".join(clean(begun.what).split()).replace("`", "'"), _WHAT_LIMIT)


@lru_cache(maxsize=256)
def _answer(result: str) -> str:
    """Returns what a sub-agent answered, as far as one line holds it: the first sentences of its conclusion, or of its
    answer if it has no conclusion. Remembered, because a conversation is often summarized again."""
    # The output of a sub-agent in the background begins with its calls.
    text = "\n".join(line for line in result.splitlines() if not line.startswith("[Tool: "))
    starts = [heading.end() for heading in _CONCLUSION.finditer(text)]
    told = _HEADING.sub("", text[starts[-1] if starts else 0 :][:_ANSWER_READ])
    said = [kept for piece in prose(clean(told)) if not _CODE_LINE.search(piece) and (kept := telling(piece))]
    return cut_at_space(joined(said[:2]), _ANSWER_LIMIT)


def _item(text: str, index: int) -> Item:
    return Item(section=Section.STATE, text=text, index=index, anchors=find_anchors(text))
