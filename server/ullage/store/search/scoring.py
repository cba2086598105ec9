"""Scores a message for a query: first its own text by BM25 (https://www.sqlite.org/fts5.html#the_bm25_function), then
what is around it.

The rarer a word or a name of the query is, the more it weighs. The index knows only in which rows a word is. So the
rows that it finds are read from the log, and the words that they hold are looked up there: how often they occur, and
which of them are neighbours. A word is looked for by its characters, because making words of a whole text takes a
hundred times as long.

In a conversation a question is answered in the next turn, which repeats few of its words ("Yes, since Tuesday."). So
a short message counts the words of its neighbours as well; a long one has words enough.

The weights of what is around a message were chosen on LoCoMo (https://arxiv.org/abs/2402.17753: short turns) and
BEAM-100K (https://arxiv.org/abs/2510.27246: long answers) together, the numbers below on their even conversations. The
rules were found with all of them in sight, so no figure on these two is one of unseen questions.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ullage.store.search.query import Query
from ullage.store.search.word_index import Counts, WordIndex, fold, part_at, stem, whole_token

# A whole name counts twice as much as a word; its words count on their own as well.
_NAME_WEIGHT = 2.0
# Rows from which on a beginning is counted as common.
_MOST_COUNTED = 5_000
# The least weight of a word: a word of half of all rows still counts a little.
_MIN_WEIGHT = 1e-6
# Characters of a word's ending that may have been typed after its stem, and the fewest that are left of it.
_LONGEST_ENDING, _SHORTEST = 3, 4
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
# Messages before and after a message whose words count for it.
REACH = 2
# The weight of the words of the message before against a message's own.
NEIGHBOUR_WEIGHT = 1.0
# The share of that weight which each further step leaves.
FADING = 0.8
# The share of it for words that come after the message: an answer follows its question.
AFTER = 0.8
# Bytes of a message's record at which its neighbours count half of that: about 200 words.
SHORT_BYTES = 1_300
# The gain of a message if the query asks for its speaker, as a share of its score.
SPEAKER_GAIN = 1.0
# The gain of a turn that begins with the name of who speaks, if the query has the name: less, for the query may ask
# what another said of them.
LABEL_GAIN = 0.5
# The gain of a message of the time that the query names: a preference, because who searches may be wrong about it.
SPAN_GAIN = 1.0
# The gain of a message that says a time or a number, if the query asks for one.
TIME_GAIN = NUMBER_GAIN = 0.3
# The loss of a message that ends with a question: it seldom answers one, unless a speaker's words are asked for.
ASKING_LOSS = 0.2
# The gain of a very short message in the session with the best message, as a share of its score.
SESSION_GAIN = 1.0
# The gain of a message that holds all words of a query over one that holds none, as a share of its score. With BM25
# alone one rare word outweighs all others, which short queries do not mean.
ALL_WORDS_GAIN = 1.0


class Term(Struct, frozen=True):
    """A part of a query: an expression of the index that finds its rows, about how many these are, and its weight."""

    expression: str
    rows: int
    weight: float


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of a query: by its stems, its names and its beginnings. `rarest` is the weight of what only one row
    has, and `total` about the number of all rows, at least 1."""

    stems: Mapping[str, Term]
    names: Mapping[str, Term]
    beginnings: Mapping[str, Term]
    rarest: float
    total: int

    def all(self) -> list[Term]:
        """Returns the terms that any row has, the rarest first."""
        every = (*self.stems.values(), *self.names.values(), *self.beginnings.values())
        return sorted((term for term in every if term.rows), key=lambda term: (term.rows, term.expression))


def weigh_terms(connection: WordIndex, query: Query, counts: Counts) -> Terms:
    """Returns the terms of a query with their weights, which are those of BM25."""
    total = connection.rows()
    forms = (form for stem in query.stems for form in (stem, *query.variants.get(stem, ())))
    counts.load((*forms, *map(whole_token, query.names)))
    beginnings = {one: beginning_expression(one) for one in query.beginnings}
    begun = connection.count_matches([*beginnings.values()], _MOST_COUNTED) if beginnings else []

    def weigh(expression: str, rows: int, factor: float = 1.0) -> Term:
        weight = max(math.log((max(total, rows) - rows + 0.5) / (rows + 0.5)), _MIN_WEIGHT)
        return Term(expression, rows, factor * weight)

    def worded(stem: str) -> Term:
        own = counted(stem)
        others = [counted(form) for form in query.variants.get(stem, ())]
        if not others:
            return own
        terms = (own, *others)
        return weigh(" OR ".join(term.expression for term in terms), sum(term.rows for term in terms))

    def counted(token: str, factor: float = 1.0) -> Term:
        return weigh(f'"{token}"', counts.of(token), factor)

    return Terms(
        stems={stem: worded(stem) for stem in query.stems},
        names={name: counted(whole_token(name), _NAME_WEIGHT) for name in query.names},
        beginnings={
            one: weigh(expression, rows) for (one, expression), rows in zip(beginnings.items(), begun, strict=True)
        },
        rarest=weigh("", 1).weight,
        total=max(1, total),
    )


def beginning_expression(beginning: str) -> str:
    """Returns the expression for all words and names with this beginning. It may reach beyond the stem that the index
    has of a word: `annota` is longer than `annot`, the stem of `annotations`."""
    start = whole_token(beginning)[:-1]
    shorter = (start[:-cut] for cut in range(1, _LONGEST_ENDING + 1))
    return " OR ".join((f'"{start}" *', *(f'"{one}"' for one in shorter if one.isalpha() and len(one) >= _SHORTEST)))


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


class Answers(Struct, frozen=True, kw_only=True):
    """What a message has of what a query asks for: it is by the asked role (`speaks`), begins with a name of the query
    as its speaker's (`labelled`), is of the named time (`then`), says a time or a number where one is asked for, or is
    a question itself where no speaker is asked for (`asks`)."""

    speaks: bool = False
    labelled: bool = False
    then: bool = False
    time: bool = False
    number: bool = False
    asks: bool = False


def score_message(own: float, share: float, size: int, around: Mapping[int, Found]) -> float:
    """Returns a message's score: from its score in the index (`own`), the share of the query's words that it holds, the
    bytes of its record, and the words of its neighbours by their distance (-1: the message before it)."""
    near: dict[str, float] = {}
    for distance, found in around.items():
        faded = FADING ** (abs(distance) - 1) * (AFTER if distance > 0 else 1.0)
        for word, score in found.items():
            near[word] = max(faded * score, near.get(word, 0.0))
    return own * (1 + ALL_WORDS_GAIN * share) + NEIGHBOUR_WEIGHT * _shortness(size) * sum(near.values())


def score_asked(answers: Answers) -> float:
    """Returns the factor of a message's score for what it has of what the query asks for besides its words."""
    return (
        (1 + SPEAKER_GAIN * answers.speaks)
        * (1 + LABEL_GAIN * answers.labelled)
        * (1 + SPAN_GAIN * answers.then)
        * (1 + TIME_GAIN * answers.time)
        * (1 + NUMBER_GAIN * answers.number)
        * (1 - ASKING_LOSS * answers.asks)
    )


def lend_by_session(score: float, size: int, session_best: float, best: float) -> float:
    """Returns a message's score raised by its session's: the best one in it, against the `best` of all sessions. What a
    short turn is about, its conversation says; a long message says it itself."""
    return score * (1 + SESSION_GAIN * _shortness(size) * session_best / best)


def _shortness(size: int) -> float:
    return 1 / (1 + (size / SHORT_BYTES) ** 2)
