"""What was asked: the task, what the user forbade or insisted on, every request, and where the work stands."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.summary.anchors import find_anchors
from ullage.summary.calls import ToolCall
from ullage.summary.excerpts import clip, prose
from ullage.summary.history import History, Source
from ullage.summary.items import Item, Section
from ullage.summary.project import relative
from ullage.summary.redaction import clean

_CONSTRAINS = re.compile(
    r"\b(?:never|must(?:n't)?|do(?:es)? not|don['’]t|only|always|without|avoid|shall|required?|ensure|forbidden|cannot"
    r"|can['’]t|should(?:n't)?|no more than|at (?:least|most)|instead of|make sure|keep|NOT|IMPORTANT)\b"
)
_FORBIDS = re.compile(r"\b(?:[Nn]ever|NEVER|[Mm]ust|MUST|[Dd]o not|DO NOT|[Dd]on['’]t|[Oo]nly|[Aa]lways|IMPORTANT)\b")
# Shorter ones are headings.
_SHORTEST_CONSTRAINT = 20
_DONE = {"completed": "done", "done": "done", "in_progress": "in progress", "pending": "open"}


def task_of(history: History) -> Iterator[Item]:
    """The first request; only its beginning when its message stays in the context."""
    if history.requests:
        first = history.requests[0]
        opening = clip(first.text.split("\n", 1)[0], 160)
        text = f"{opening} (the message stays in the context)" if first.kept else first.text
        yield _item(Section.TASK, text, first.index)


def constraints_of(history: History) -> Iterator[Item]:
    """Sentences in which the user forbids, requires or limits something, except where they stand in the task."""
    for request in history.requests:
        if not request.kept:
            for piece in prose(request.text):
                cues = len(_CONSTRAINS.findall(piece)) + 3 * len(_FORBIDS.findall(piece))
                if cues and len(piece) >= _SHORTEST_CONSTRAINT:
                    yield replace(_item(Section.CONSTRAINTS, piece, request.index), value=float(cues), scale=0.2)


def requests_of(history: History) -> Iterator[Item]:
    """Every later request, verbatim."""
    for request in history.requests[1:]:
        if not request.kept:
            yield _item(Section.REQUESTS, request.text, request.index)


def state_of(history: History) -> Iterator[Item]:
    """The last list of things to do, as the agent left it."""
    for call in reversed(history.calls):
        todos = _todos(call)
        if todos:
            for status, text in todos:
                shown = relative(text, history.root)
                yield _item(Section.STATE, f"{_DONE.get(status, status)}: {shown}", call.index)
            break
    if history.root:
        yield _item(Section.STATE, f"Paths are relative to {history.root}", -1)


def next_of(history: History) -> Iterator[Item]:
    """What the agent said last, and what it did last."""
    said = [piece for piece in history.excerpts if piece.source in (Source.AGENT, Source.THINKING)]
    for piece in said[-3:]:
        if piece.index == said[-1].index:
            yield _item(Section.NEXT, piece.text, piece.index)


def _todos(call: ToolCall) -> list[tuple[str, str]]:
    """Status and text of each entry, from Claude Code's, trae's and Codex's to-do tools."""
    entries = as_objects(call.input.get("todos") or call.input.get("plan") or call.input.get("items"))
    texts = ((entry, _todo_text(entry)) for entry in entries)
    return [(as_text(entry.get("status")) or "pending", clip(clean(text), 240)) for entry, text in texts if text]


def _todo_text(entry: JsonObject) -> str:
    return as_text(entry.get("content") or entry.get("step") or entry.get("text") or entry.get("title"))


def _item(section: Section, text: str, index: int) -> Item:
    return Item(section=section, text=text, index=index, anchors=find_anchors(text))
