"""The part of a text that best shows why it was found."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.store.search_query import Query
from ullage.store.search_words import places, stem

# About three lines of a terminal.
_CHARS = 240
_LEAD = 40
# A whole name is worth more than any word.
_WHOLE_WEIGHT = 3


class _Mark(Struct, frozen=True):
    """A matching token: the parts of the query that it holds, and its position."""

    found: frozenset[str]
    weight: int
    start: int
    stop: int


def found_in(text: str, query: Query) -> frozenset[str]:
    """Returns which of the query's stems a text of plain words holds."""
    return query.stems.intersection(map(stem, text.split()))


def make_snippet(text: str, query: Query) -> str:
    """Returns the passage that holds most of the query, with the matches in `**`, or the beginning if no match is
    found."""
    marks = _marks(text, query)
    if not marks:
        return _cut(text, 0, _CHARS, ())
    best = max(range(len(marks)), key=lambda at: (_weight(_window(marks, at)), -at))
    window = _window(marks, best)
    start = max(0, window[0].start - _LEAD)
    return _cut(text, start, max(start + _CHARS, window[-1].stop), window)


def _marks(text: str, query: Query) -> list[_Mark]:
    marks: list[_Mark] = []
    for place in places(text):
        wholes = query.wholes.intersection(place.name.wholes)
        stems = query.stems.intersection(map(stem, place.name.parts))
        if wholes or stems:
            weight = len(stems) + _WHOLE_WEIGHT * len(wholes)
            marks.append(_Mark(wholes | stems, weight, place.start, place.stop))
    return marks


def _window(marks: Sequence[_Mark], first: int) -> list[_Mark]:
    end = marks[first].start + _CHARS - _LEAD
    return [mark for mark in marks[first : first + _CHARS] if mark.stop <= end] or [marks[first]]


def _weight(window: Sequence[_Mark]) -> int:
    """Returns the weight of the window's marks, counting repetitions once."""
    return sum({mark.found: mark.weight for mark in window}.values())


def _cut(text: str, start: int, stop: int, marks: Sequence[_Mark]) -> str:
    start = text.find(" ", start) + 1 if 0 < start < text.find(" ", start) < start + _LEAD // 2 else start
    pieces: list[str] = ["…"] if start > 0 else []
    for mark in marks:
        pieces += (text[start : mark.start], "**", text[mark.start : mark.stop], "**")
        start = mark.stop
    return "".join((*pieces, text[start:stop], "…" if stop < len(text) else ""))
