"""Shows the part of a found text that best matches a query."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ullage.store.search.search_query import Query
from ullage.store.search.search_words import Name, fold, places, plain_name, stem

# About three lines of a terminal.
_CHARS = 240
_LEAD = 40
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
# A whole name is worth more than any word.
_WHOLE_WEIGHT = 3


class _Mark(Struct, frozen=True):
    """A token of a text that matches a query: the stems and whole names of the query that it holds, their weight, and
    its position."""

    found: frozenset[str]
    weight: int
    start: int
    stop: int


def make_snippet(text: str, query: Query) -> str:
    """Returns the passage of about 240 characters that has most of the query's words, with the matches in `**`. If
    nothing matches, returns the beginning of the text. `…` marks text that is left out."""
    marks = _marks(text, query)
    if not marks:
        return _cut(text, 0, _CHARS, ())
    best = max(range(len(marks)), key=lambda at: (_weight(_window(marks, at)), -at))
    window = _window(marks, best)
    start = max(0, window[0].start - _LEAD)
    return _cut(text, start, max(start + _CHARS, window[-1].stop), window)


def without_bare_numbers(text: str, query: Query) -> str:
    """Returns the text without the lines that are a number and nothing else, unless the query asks for the number.
    Such lines are mostly limits and offsets of tool calls."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not _NUMBER.fullmatch(line.strip()) or _marks(line, query))


def _marks(text: str, query: Query) -> list[_Mark]:
    marks: list[_Mark] = []
    names = frozenset(query.names)
    forms = {form: one for one, others in query.variants.items() for form in others} | {one: one for one in query.stems}
    # A token without these characters matches nothing; most tokens are done with by this look.
    begun = re.compile("|".join(map(re.escape, (*forms, *query.names, *query.beginnings))), re.IGNORECASE)
    for place in places(text, begun if text.isascii() else None):
        name = place.name if text.isascii() else _folded(place.name)
        wholes = names.intersection(map(plain_name, name.wholes))
        found = frozenset(forms[one] for one in map(stem, name.parts) if one in forms)
        stems = found | _begun(name, query) if query.beginnings else found
        if wholes or stems:
            weight = len(stems) + _WHOLE_WEIGHT * len(wholes)
            marks.append(_Mark(wholes | stems, weight, place.start, place.stop))
    return marks


def _folded(name: Name) -> Name:
    return Name(tuple(map(fold, name.wholes)), tuple(map(fold, name.parts)))


def _begun(name: Name, query: Query) -> frozenset[str]:
    spelt = (*map(plain_name, name.wholes), *name.parts)
    return frozenset(start for start in query.beginnings if any(one.startswith(start) for one in spelt))


def _window(marks: Sequence[_Mark], first: int) -> list[_Mark]:
    end = marks[first].start + _CHARS - _LEAD
    return [mark for mark in marks[first : first + _CHARS] if mark.stop <= end] or [marks[first]]


def _weight(window: Sequence[_Mark]) -> int:
    """Returns the sum of the marks' weights; several marks of the same words count once."""
    return sum({mark.found: mark.weight for mark in window}.values())


def _cut(text: str, start: int, stop: int, marks: Sequence[_Mark]) -> str:
    start = text.find(" ", start) + 1 if 0 < start < text.find(" ", start) < start + _LEAD // 2 else start
    pieces: list[str] = ["…"] if start > 0 else []
    for mark in marks:
        pieces += (text[start : mark.start], "**", text[mark.start : mark.stop], "**")
        start = mark.stop
    return "".join((*pieces, text[start:stop], "…" if stop < len(text) else ""))
