"""Finds messages by words: takes candidates from the full-text index and ranks them by message."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.blocks import ToolResultBlock
from ullage.model.message import Message
from ullage.service.ports.store import ChunkId, Passage, SearchHit
from ullage.store.search.indexed_text import chunks, message_text
from ullage.store.search.search_asked import says_number, says_time, speaker_label
from ullage.store.search.search_candidates import Candidate, find_around, find_candidates
from ullage.store.search.search_counts import Counts
from ullage.store.search.search_index import index_some
from ullage.store.search.search_matching import Matcher, place_of_beginning, together
from ullage.store.search.search_query import Query, query_tokens, read_query
from ullage.store.search.search_scope import find_scope
from ullage.store.search.search_scoring import REACH, Answers, lend_by_session, score_asked, score_message
from ullage.store.search.search_snippet import make_snippet, without_bare_numbers
from ullage.store.search.search_terms import weigh_terms
from ullage.store.search.search_variants import with_variants
from ullage.store.search.search_words import fold, stem
from ullage.store.search.vectors import load_vectors, save_vectors
from ullage.store.search.word_index import IndexTransactions, WordIndex
from ullage.store.tables.session_table import require_session


class Searcher:
    """The part of the store that searches. Any thread may call it."""

    def __init__(self, transactions: IndexTransactions) -> None:
        self._transactions = transactions

    def find_passages(self, query: str, session_id: str | None, limit: int) -> tuple[Passage, ...]:
        """Returns what matches best of what is indexed; see `SessionStore.find_passages`."""
        with self._transactions.reading() as connection:
            if session_id is not None:
                require_session(connection, session_id)
            counts = Counts(connection)
            counts.load(query_tokens(query))
            read = read_query(query, counts.has, datetime.now().astimezone())
            wanted = with_variants(connection, read, counts)
            return search_messages(connection, wanted, counts, session_id, limit)

    def index_some(self, session_id: str | None) -> int:
        """Indexes some records and returns the number of those left; see `SessionStore.index_some`."""
        return index_some(self._transactions, session_id)

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        """Returns the kept vectors of these chunks; see `SessionStore.load_vectors`."""
        with self._transactions.reading() as connection:
            return load_vectors(connection, model, chunks)

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        """Keeps vectors of chunks; see `SessionStore.save_vectors`."""
        with self._transactions.writing() as connection:
            save_vectors(connection, model, vectors)


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

    `search_matching.py` scores a message's own text, and `search_scoring.py` what is around it.
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
