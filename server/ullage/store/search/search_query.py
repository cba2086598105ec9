"""Reads a user's or a model's question as a query of the index."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise

from msgspec import Struct, field

from ullage.model.errors import InvalidRequest
from ullage.model.message import Role
from ullage.store.search.search_asked import asked_speaker, asks_number, asks_time
from ullage.store.search.search_time import Span, read_time
from ullage.store.search.search_words import Name, fold, joined_names, places, plain_name, stem
from ullage.store.tables.codec import storable

# More words make a search slow and no better.
MAX_WORDS = 40
# Words that are frequent in questions and rare in answers. They are left out as long as other words remain.
_ASKING_WORDS = """
    a about after again all also am an and any are as at be been before being but by can could did do does doing
    done earlier else find for from get give had has have he her him his how i if in into is it its just like many me
    mention mentioned more most my no not now of off on once only or other our out over please previously
    remember said same say see seen she should show so some still such tell than that the their them then there
    these they thing this those to too under until up us use very was we well were what when where which while
    who why will with would you your
"""
_ASKING = frozenset(_ASKING_WORDS.split())
# Words of the longest name that is searched in other spellings.
_LONGEST_NAME = 5
# Fewer characters begin too many words to mean one of them.
_SHORTEST_BEGINNING = 4


class Query(Struct, frozen=True):
    """What a search looks for: the `stems` of words, whole `names` in lower case, the `beginnings` of words and names
    that are nowhere as they were given, the `pairs` of stems that were neighbours, and all words of the text in their
    order (`phrase`; empty for one word). `variants` are other stems that count as one of `stems`. `named` says whether
    it was given a whole name. `speaker` is whose words are asked for and `span` when they were written, None if the
    query does not say; `asks_time` and `asks_number` say whether a time or a number is asked for."""

    stems: tuple[str, ...]
    names: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    phrase: tuple[str, ...] = ()
    named: bool = False
    speaker: Role | None = None
    span: Span | None = None
    asks_time: bool = False
    asks_number: bool = False
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def read_query(text: str, known: Callable[[str], bool] = lambda _: True, now: datetime | None = None) -> Query:
    """Returns the query for a user's or a model's text, in which no character is syntax.

    Question words are left out if other words remain, and at most `MAX_WORDS` words are used. Raises `InvalidRequest`
    if the text has no word.

    `known` says whether a token of the index, a stem or a whole name, is anywhere. A name that is nowhere is searched
    in other spellings (`parseConfig`, `parse_config`, `parse-config`, `parseconfig`), and a name or word that is
    nowhere as a beginning. With `now`, time words ("yesterday") give the query its `span` and are left out if other
    words remain.
    """
    rest, span = read_time(text, now) if now else (text, None)
    given = _names(rest)
    if all(map(_is_asking, given)):
        given = _names(text)
    if not given:
        raise InvalidRequest(f"nothing to search for in {text!r}: give at least one word")
    names = ([name for name in given if not _is_asking(name)] or given)[:MAX_WORDS]
    parts = [part for name in names for part in name.parts][:MAX_WORDS]
    # A name may hold such words, too: those of `scrollIntoView` are "scroll" and "view".
    words = [part for part in parts if part not in _ASKING] or parts
    spelt = [whole for name in names for whole in _spellings(name, known)]
    if 1 < len(parts) <= _LONGEST_NAME and not any(name.wholes for name in names):
        # Words may be a name as it is spoken.
        spelt += joined_names(tuple(parts))
    stems = tuple(dict.fromkeys(map(stem, words)))
    spoken = [part for name in given for part in name.parts]
    return Query(
        stems=stems,
        names=tuple(dict.fromkeys([*(plain_name(name.wholes[0]) for name in names if name.wholes), *spelt])),
        beginnings=tuple(dict.fromkeys(beginning for name in names for beginning in _beginnings(name, known))),
        pairs=tuple(
            dict.fromkeys(pair for pair in pairwise(map(stem, parts)) if pair[0] in stems and pair[1] in stems)
        ),
        phrase=tuple(spoken) if 1 < len(spoken) <= MAX_WORDS else (),
        named=any(name.wholes for name in names),
        speaker=asked_speaker(text),
        span=span,
        asks_time=asks_time(text),
        asks_number=asks_number(text),
    )


def query_tokens(text: str) -> Iterator[str]:
    """Yields the tokens of the index that a text's names and words are, most of those that `read_query` asks for."""
    given = _names(text)
    for name in ([name for name in given if not _is_asking(name)] or given)[:MAX_WORDS]:
        yield from name.wholes
        yield from map(stem, name.parts)


def _names(text: str) -> list[Name]:
    return [place.name for place in places(fold(storable(text))) if place.name.parts]


def _is_asking(name: Name) -> bool:
    return len(name.parts) == 1 and name.parts[0] in _ASKING


def _spellings(name: Name, known: Callable[[str], bool]) -> Iterable[str]:
    """Returns other spellings of a name that is nowhere. A plain word may be a name without its humps."""
    if not name.wholes:
        return () if known(stem(name.parts[0])) else joined_names(name.parts)[:1]
    alike = len(name.parts) <= _LONGEST_NAME and not known(name.wholes[0])
    return joined_names(name.parts) if alike else ()


def _beginnings(name: Name, known: Callable[[str], bool]) -> Iterator[str]:
    """Yields the name or word if it is nowhere: it may be the beginning of one."""
    if name.wholes:
        if not known(name.wholes[0]):
            yield plain_name(name.wholes[0])
    elif len(name.parts[0]) >= _SHORTEST_BEGINNING and not known(stem(name.parts[0])):
        yield name.parts[0]
