"""Translates a user's or a model's question into a query of the index, and shows the part of a found text that best
matches the query."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.store.codec import storable
from ullage.store.search_words import Name, places, stem

# More words make a search slow and no better.
MAX_WORDS = 40
# Words that are frequent in questions and rare in answers. They are left out as long as other words remain.
_ASKING_WORDS = """
    a about after again all also am an and any are as at be been before being but by can could did do does doing
    done earlier else find for from get give had has have he her him his how i if in into is it its just like me
    mention mentioned more most my no not now of off on once only or other our out over please previously
    remember said same say see seen she should show so some still such tell than that the their them then there
    these they thing this those to too under until up us use very was we well were what when where which while
    who why will with would you your
"""
_ASKING = frozenset(_ASKING_WORDS.split())


class Query(Struct, frozen=True):
    """An FTS5 `expression` of which any term may match, and what it searches for: the `stems` of words and the
    `wholes` of names."""

    expression: str
    stems: frozenset[str]
    wholes: frozenset[str]


def read_query(text: str) -> Query:
    """Reads a query; nothing in it is syntax. It searches for words, whole names, and neighbouring words as phrases.
    BM25 scores a row higher the more of them, and the rarer ones, it holds. Raises `InvalidRequest` for a query
    without a word."""
    names = [place.name for place in places(storable(text)) if place.name.parts]
    if not names:
        raise InvalidRequest(f"nothing to search for in {text!r}: give at least one word")
    names = ([name for name in names if not _is_asking(name)] or names)[:MAX_WORDS]
    parts = [part for name in names for part in name.parts][:MAX_WORDS]
    return Query(
        expression=" OR ".join(dict.fromkeys(_terms(names, parts))),
        stems=frozenset(map(stem, parts)),
        wholes=frozenset(name.wholes[0] for name in names if name.wholes),
    )


def _is_asking(name: Name) -> bool:
    return len(name.parts) == 1 and name.parts[0] in _ASKING


def _terms(names: Sequence[Name], parts: Sequence[str]) -> Iterator[str]:
    """Yields terms as FTS5 strings, which hold no quotes (https://www.sqlite.org/fts5.html#fts5_strings)."""
    for part in parts:
        yield f'words : "{part}"'
    for name in names:
        if name.wholes:
            yield f'names : "{name.wholes[0]}"'
        if len(name.parts) > 2:
            yield f'words : "{" ".join(name.parts)}"'
    for left, right in pairwise(parts):
        yield f'words : "{left} {right}"'


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
