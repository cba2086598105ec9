"""What was asked: the task, what the user forbade or insisted on, and every request."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import clip, prose
from ullage.summary.reading.history import History

_CONSTRAINS = re.compile(
    r"\b(?:never|must(?:n't)?|do(?:es)? not|don['’]t|only|always|without|avoid|shall|required?|ensure|forbidden|cannot"
    r"|can['’]t|should(?:n't)?|no more than|at (?:least|most)|instead of|make sure|keep|NOT|IMPORTANT)\b"
)
_FORBIDS = re.compile(r"\b(?:[Nn]ever|NEVER|[Mm]ust|MUST|[Dd]o not|DO NOT|[Dd]on['’]t|[Oo]nly|[Aa]lways|IMPORTANT)\b")
# Shorter ones are headings.
_SHORTEST_CONSTRAINT = 20
_FEWEST_WORDS = 4
# Constraints of a request this short are seen where it stands.
_SHORT_REQUEST = 300


def task_of(history: History) -> Iterator[Item]:
    """The first request; only its beginning when its message stays in the context."""
    if history.requests:
        first = history.requests[0]
        opening = clip(next((line for line in first.text.splitlines() if _is_sentence(line)), first.text), 160)
        text = f"{opening} (the message stays in the context)" if first.kept else first.text
        yield _item(Section.TASK, text, first.index)


def _is_sentence(line: str) -> bool:
    """Whether a line says something, rather than being a heading or a tag."""
    words = line.split()
    return len(words) >= _FEWEST_WORDS and words[-1][-1] not in ":>"


def constraints_of(history: History) -> Iterator[Item]:
    """Sentences in which the user forbids, requires or limits something, where they are easily overread."""
    for request in history.requests:
        if not request.kept and len(request.text) > _SHORT_REQUEST:
            for piece in prose(request.text):
                cues = len(_CONSTRAINS.findall(piece)) + 3 * len(_FORBIDS.findall(piece))
                if cues and len(piece) >= _SHORTEST_CONSTRAINT:
                    yield replace(_item(Section.CONSTRAINTS, piece, request.index), value=float(cues), scale=0.2)


def requests_of(history: History) -> Iterator[Item]:
    """Every later request, verbatim."""
    for request in history.requests[1:]:
        if not request.kept:
            yield _item(Section.REQUESTS, request.text, request.index)


def _item(section: Section, text: str, index: int) -> Item:
    return Item(section=section, text=text, index=index, anchors=find_anchors(text))
