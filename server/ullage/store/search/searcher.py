"""Finds messages by words: takes candidates from the full-text index, ranks them by message, and shows of each the part
that best matches."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.message import Message, ToolResultBlock
from ullage.service.ports.store import ChunkId, Passage, SearchHit
from ullage.store.search.candidates import Candidate, find_around, find_candidates, find_scope
from ullage.store.search.indexed_text import Name, chunks, fold, message_text, places, plain_name, stem
from ullage.store.search.query import (
    Query,
    query_tokens,
    read_query,
    says_number,
    says_time,
    speaker_label,
    with_variants,
)
from ullage.store.search.scoring import (
    REACH,
    Answers,
    Matcher,
    lend_by_session,
    place_of_beginning,
    score_asked,
    score_message,
    together,
    weigh_terms,
)
from ullage.store.search.word_index import Counts, IndexTransactions, WordIndex, index_some, load_vectors, save_vectors
from ullage.store.tables.session_table import require_session

# The share of a query's words from which on a message is likely enough about it that its neighbours are, too.
_HALF = 0.5
# Words of a query up to which more than half of them must be near each other in a message that fits it; of a longer
# query half of them is enough. Of questions asked of another conversation than theirs, which cannot answer them, nine
# in ten find no such message (with the words anywhere in it, half of them); of 163 that found their answer, one.
_SHORT = 4
# Messages that are scored closely: several for each hit that is returned, because the second score may change their
# order.
_MIN_CANDIDATES, _CANDIDATES_PER_HIT = 60, 3
# Words of a query from which on a message may be found by the words of its neighbours alone: fewer words name a thing,
# which a hit must have.
_QUESTION_WORDS = 3
# About three lines of a terminal.
_CHARS = 240
_LEAD = 40
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
# A whole name is worth more than any word.
_WHOLE_WEIGHT = 3


class Searcher:
    """The part of a `SessionStore` that searches. Any thread may call it."""

    def __init__(self, transactions: IndexTransactions) -> None:
        self._transactions = transactions

    def find_passages(self, query: str, session_id: str | None, limit: int) -> tuple[Passage, ...]:
        with self._transactions.reading() as connection:
            if session_id is not None:
                require_session(connection, session_id)
            counts = Counts(connection)
            counts.load(query_tokens(query))
            read = read_query(query, counts.has, datetime.now().astimezone())
            wanted = with_variants(connection, read, counts)
            return search_messages(connection, wanted, counts, session_id, limit)

    def index_some(self, session_id: str | None) -> int:
        return index_some(self._transactions, session_id)

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        with self._transactions.reading() as connection:
            return load_vectors(connection, model, chunks)

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        with self._transactions.writing() as connection:
            save_vectors(connection, model, vectors)


class _Scored(Struct, frozen=True, kw_only=True):
    """A message with its score and the share of the query's words that it contains, from 0 to 1."""

    candidate: Candidate
    score: float
    share: float


def search_messages(
    connection: WordIndex, query: Query, counts: Counts, session_id: str | None, limit: int
) -> tuple[Passage, ...]:
    """Returns the best passages of at most `limit` messages that contain any word of the query, best first, in one
    session or in all, each message once. A query of several words also finds messages next to those.

    A message is scored by its own text first, then by what is around it.
    """
    scope = find_scope(connection, session_id)
    terms = weigh_terms(connection, query, counts)
    wanted = max(_MIN_CANDIDATES, _CANDIDATES_PER_HIT * limit)
    matching, holder = find_candidates(connection, query, terms, scope, wanted)
    texts = [text for one in matching.values() for text in one.texts]
    matcher = Matcher(query, terms, sum(map(len, texts)) / max(1, len(texts)))
    neighbours = {one.record_id: one for one in find_around(connection, matching, holder, REACH)}
    read = matching | neighbours
    for one in read.values():
        _match(one, matcher)
    shares = {key: _share(query, one) for key, one in read.items()}
    hits = matching
    if len(query.stems) >= _QUESTION_WORDS and not query.named:
        fitting = [one for key, one in matching.items() if shares[key] >= _HALF]
        beside = {(one.owner, one.number + step) for one in fitting for step in range(-REACH, REACH + 1)}
        hits = hits | {key: one for key, one in neighbours.items() if (one.owner, one.number) in beside}
    places = {(one.owner, one.number): key for key, one in read.items()}
    scored: list[_Scored] = []
    for key, one in hits.items():
        near = {
            step: read[other].held.words
            for step in range(-REACH, REACH + 1)
            if step and (other := places.get((one.owner, one.number + step))) is not None
        }
        score = score_message(one.held.score, shares[key], one.size, near) * score_asked(_answers(one, query))
        scored.append(_Scored(candidate=one, score=score, share=shares[key]))
    best = sorted(
        (one for one in _with_sessions(scored) if one.score > 0), key=lambda one: (-one.score, one.candidate.record_id)
    )
    return tuple(_passage(query, one) for one in best[:limit])


def _with_sessions(scored: Sequence[_Scored]) -> Sequence[_Scored]:
    """Returns the messages with the scores that their sessions lend them; as they are if all are of one session."""
    best: dict[str, float] = {}
    for one in scored:
        session_id = one.candidate.session_id
        best[session_id] = max(one.score, best.get(session_id, 0.0))
    if len(best) < 2 or not (most := max(best.values())):
        return scored
    return [
        replace(one, score=lend_by_session(one.score, one.candidate.size, best[one.candidate.session_id], most))
        for one in scored
    ]


def _match(candidate: Candidate, matcher: Matcher) -> None:
    parts = [matcher.read(text) for text in candidate.texts]
    candidate.held = together(parts)
    best = max(range(len(parts)), key=lambda at: parts[at].score, default=0)
    candidate.chunk = candidate.chunks[best]


def _share(query: Query, candidate: Candidate) -> float:
    """Returns the share of the query's words that a message contains, from 0 to 1."""
    held = set(candidate.held.words)
    if query.beginnings:
        lowered = [fold(text).lower() for text in candidate.texts]
        begun = (one for one in query.beginnings if any(place_of_beginning(text, one) >= 0 for text in lowered))
        held.update(set(map(stem, begun)).intersection(query.stems))
    return len(held) / len(query.stems)


def _fitting(words: int) -> int:
    """Returns how many of a query's words must be near each other in a message that fits the query."""
    return words // 2 + 1 if words <= _SHORT else (words + 1) // 2


def _answers(candidate: Candidate, query: Query) -> Answers:
    """Returns which of the things that the query asks for a message has."""
    text = "\n".join(candidate.texts)
    label = {stem(word) for word in speaker_label(text).lower().split()}
    return Answers(
        speaks=query.speaker is not None and _speaks(candidate.message(), query),
        labelled=not label.isdisjoint(query.stems),
        then=query.span is not None and query.span.has(candidate.time),
        time=query.asks_time and says_time(text),
        number=query.asks_number and says_number(text),
        asks=query.speaker is None and text.rstrip().endswith("?"),
    )


def _speaks(message: Message, query: Query) -> bool:
    """Returns whether a message is what the asked speaker said. A tool's result is what neither said."""
    return message.role is query.speaker and not any(isinstance(block, ToolResultBlock) for block in message.content)


def _passage(query: Query, scored: _Scored) -> Passage:
    candidate = scored.candidate
    message = candidate.message()
    text = message_text(message)
    start, stop = next(islice(chunks(text), candidate.chunk, None), (0, 0))
    hit = SearchHit(
        session_id=candidate.session_id,
        message_id=message.id,
        index=candidate.number - 1,
        role=message.role.value,
        score=scored.score,
        snippet=make_snippet(without_bare_numbers(text[start:stop], query), query),
        fits=candidate.held.gathered >= _fitting(len(query.stems)),
    )
    return Passage(
        hit=hit,
        record_id=candidate.record_id,
        chunk=candidate.chunk,
        text=text[start:stop],
        has_half=scored.share >= _HALF,
    )


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
