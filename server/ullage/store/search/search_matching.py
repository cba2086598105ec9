"""Scores a text for a query by BM25 (https://www.sqlite.org/fts5.html#the_bm25_function), from the text itself.

The index knows only in which rows a word is. So the rows that it finds are read from the log, and the words that they
hold are looked up there: how often they occur, and which of them are neighbours. A word is looked for by its
characters, because making words of a whole text takes a hundred times as long.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ullage.store.search.search_query import Query
from ullage.store.search.search_terms import Terms
from ullage.store.search.search_words import fold, part_at, stem

# BM25's saturation of repeated words and its weight of a text's length.
_K1, _B = 1.2, 0.75
# Occurrences of a word that are counted: more of them change its score by a tenth.
_MOST_PLACES = 8
# The weight of two neighbouring words of a query that are neighbours in a text, and of the whole query as one phrase,
# as shares of the weights of their words.
_PAIR_WEIGHT, _PHRASE_WEIGHT = 0.5, 1.0
# Characters for each word of a query within which a text has them if it speaks of what is asked: about two sentences
# for five words. In a long text, as of code, any words are somewhere.
_NEAR = 60
_GAP = re.compile(r"[\W_]*")

# The score of each of a query's stems that a text holds.
Found = Mapping[str, float]


class Held(Struct, frozen=True):
    """What a text holds of a query: the scores of its words, and the score of its names, beginnings and phrases.
    `gathered` is the largest number of different words of the query that are near each other."""

    words: Found
    more: float
    gathered: int = 0

    @property
    def score(self) -> float:
        return sum(self.words.values()) + self.more


NOTHING = Held({}, 0.0)


class Matcher:
    """Scores texts for one query. `usual_length` is the usual number of characters of a text."""

    def __init__(self, query: Query, terms: Terms, usual_length: float) -> None:
        self._query, self._terms, self._usual = query, terms, max(1.0, usual_length)
        self._forms = {one: (one, *query.variants.get(one, ())) for one in query.stems}
        words = r"[\W_]+".join(map(re.escape, query.phrase))
        self._phrase = re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.IGNORECASE) if query.phrase else None
        self._near = _NEAR * len(query.stems)
        self._names = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w]|-\w)") for name in query.names}

    def read(self, text: str) -> Held:
        """Returns what the text holds of the query."""
        text = fold(text)
        lowered = text.lower()
        if len(lowered) != len(text):
            text = lowered
        length = _K1 * (1 - _B + _B * len(text) / self._usual)
        places = {
            one: found
            for one, forms in self._forms.items()
            if (found := [place for form in forms if form in lowered for place in _places(text, lowered, form)])
        }
        words = {one: _saturated(self._terms.stems[one].weight, len(found), length) for one, found in places.items()}
        more = self._names_score(lowered, length)
        begun: dict[str, list[tuple[int, int]]] = {}
        for beginning, term in self._terms.beginnings.items():
            if (at := place_of_beginning(lowered, beginning)) >= 0:
                more += _saturated(term.weight, 1, length)
                begun[stem(beginning)] = [(at, at + len(beginning))]
        near = {one: found for one, found in (begun | places).items() if one in self._forms}
        return Held(words, more + self._pairs_score(text, places, length), _gathered(near, self._near))

    def _names_score(self, lowered: str, length: float) -> float:
        score = 0.0
        for name, pattern in self._names.items():
            if name in lowered and (count := len(pattern.findall(lowered))):
                score += _saturated(self._terms.names[name].weight, count, length)
        return score

    def _pairs_score(self, text: str, places: Mapping[str, Sequence[tuple[int, int]]], length: float) -> float:
        score = 0.0
        for left, right in self._query.pairs:
            if left in places and right in places:
                starts = {start for start, _ in places[right]}
                count = sum(_next_word(text, stop) in starts for _, stop in places[left])
                if count:
                    weight = _PAIR_WEIGHT * (self._terms.stems[left].weight + self._terms.stems[right].weight)
                    score += _saturated(weight, count, length)
        if self._phrase is not None and len(places) == len(self._query.stems) and self._phrase.search(text):
            weights = sum(term.weight for term in self._terms.stems.values())
            score += _saturated(_PHRASE_WEIGHT * max(weights, self._terms.rarest), 1, length)
        return score


def place_of_beginning(lowered: str, beginning: str) -> int:
    """Returns where the first word or name of a text in lower case begins so, -1 if none does."""
    at = lowered.find(beginning)
    while at > 0 and lowered[at - 1].isalnum():
        at = lowered.find(beginning, at + 1)
    return at


def together(parts: Iterable[Held]) -> Held:
    """Returns what a message holds whose parts hold this: of each word the best score, and the most of the rest."""
    words: dict[str, float] = {}
    more, gathered = 0.0, 0
    for held in parts:
        more, gathered = max(more, held.more), max(gathered, held.gathered)
        for word, score in held.words.items():
            words[word] = max(score, words.get(word, 0.0))
    return Held(words, more, gathered)


def _gathered(places: Mapping[str, Sequence[tuple[int, int]]], near: int) -> int:
    """Returns how many of these words are at most within `near` characters of each other."""
    spots = sorted((start, stop, word) for word, found in places.items() for start, stop in found)
    last: dict[str, int] = {}
    most = 0
    for start, stop, word in spots:
        last[word] = start
        most = max(most, sum(stop - begins <= near for begins in last.values()))
    return most


def _saturated(weight: float, count: int, length: float) -> float:
    return weight * count * (_K1 + 1) / (count + length)


def _next_word(text: str, stop: int) -> int:
    match = _GAP.match(text, stop)
    return match.end() if match else stop


def _places(text: str, lowered: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the stop of the first words of a text that have a stem."""
    at, left = lowered.find(wanted), _MOST_PLACES
    while at >= 0 and left:
        stop = at + len(wanted)
        if _begins_word(text, at):
            end = part_at(text, at)
            if end < stop:
                # A word of letters and digits, as a commit's id is.
                while stop < len(text) and text[stop].isalnum():
                    stop += 1
                end = stop
            if stem(lowered[at:end]) == wanted:
                yield at, end
                left -= 1
                stop = end
        at = lowered.find(wanted, stop)


def _begins_word(text: str, at: int) -> bool:
    """Returns whether a word begins here: after a space or a joint, at a hump, or between letters and digits."""
    if at == 0:
        return True
    before, char = text[at - 1], text[at]
    if not before.isalnum() or before.isdigit() != char.isdigit() or char > "\u303f":
        return True
    return char.isupper() and (before.islower() or text[at + 1 : at + 2].islower())
