"""Finds the messages that may answer a query: those of the best rows of the full-text index, and their neighbours."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Any

from msgspec import Struct, field

from ullage.model.message import Message
from ullage.store.search.indexed_text import chunks, message_text
from ullage.store.search.search_matching import NOTHING, Held
from ullage.store.search.search_query import Query
from ullage.store.search.search_rows import chunk_of, read_message
from ullage.store.search.search_scope import Scope
from ullage.store.search.search_terms import Term, Terms
from ullage.store.search.search_words import stem
from ullage.store.search.word_index import WordIndex

# Rows that are fetched by the rare words of a query: each takes about a microsecond. The common words are counted in
# what these find.
_ROOM = 2_000
# A common word is counted only if it weighs at least this share of the rarest one: others change no order of rows.
_LEAST_WEIGHT = 0.1
# Characters of a message that are read as a neighbour: its beginning says what it is about.
_NEIGHBOUR_CHARS = 800
# A quotation of which hardly a word says anything ("but the file was not there") is looked for by all of its words.
_FEW_WORDS = 2
# Of rows that have all words of a quotation, the newest so many are looked at.
_QUOTING = 100
# Tokens up to which a row's length counts nothing in the order of rows, so that turns of a talk are equal; and those
# beyond them that halve a row's score.
_SHORT, _LONG = 50, 150
# Rows that are read for each message that is wanted: a long message may have several.
_ROWS_PER_MESSAGE = 3


class Candidate(Struct, kw_only=True):
    """A message that may answer a query. `session_id` is the session in which it is shown; `owner` and `number` are the
    session that wrote it and its number there, `size` the bytes of its record. `chunks` are the numbers of those of its
    chunks that are read, and `texts` these; `held` is what they hold of the query, and `chunk` the best of them."""

    record_id: int
    session_id: str
    owner: str
    number: int
    size: int
    time: int
    payload: bytes
    chunks: list[int] = field(default_factory=list[int])
    texts: list[str] = field(default_factory=list[str])
    held: Held = NOTHING
    chunk: int = 0

    def message(self) -> Message:
        """Returns the message."""
        return read_message(self.payload)


def find_candidates(
    connection: WordIndex, query: Query, terms: Terms, scope: Scope, wanted: int
) -> dict[int, Candidate]:
    """Returns at most `wanted` messages that match the query, by their record's id, those with the most and rarest of
    its words."""
    scores = _score_rows(connection, query, terms, scope, wanted)
    best = _best_rows(connection, scores, 2 * _ROWS_PER_MESSAGE * wanted)
    found: dict[int, Candidate] = {}
    hidden: set[int] = set()
    rows = 0
    for row_id in best:
        record_id, chunk = chunk_of(connection, row_id)
        if record_id in hidden:
            continue
        if record_id not in found:
            candidate = _candidate(connection, record_id, scope) if len(found) < wanted else None
            if candidate is None:
                hidden.add(record_id)
                continue
            found[record_id] = candidate
        found[record_id].chunks.append(chunk)
        rows += 1
        if rows == _ROWS_PER_MESSAGE * wanted:
            break
    for candidate in found.values():
        _read_texts(candidate)
    return found


def find_around(
    connection: WordIndex, candidates: Mapping[int, Candidate], scope: Scope, reach: int
) -> Iterator[Candidate]:
    """Yields the messages at most `reach` messages before or after one of the candidates (by their record's id), in the
    same session and shown where the candidate is, each once, with its first chunk, without the candidates."""
    wanted: dict[tuple[str, str], set[int]] = {}
    for candidate in candidates.values():
        numbers = range(candidate.number - reach, candidate.number + reach + 1)
        wanted.setdefault((candidate.owner, candidate.session_id), set()).update(numbers)
    for (owner, session_id), numbers in wanted.items():
        neighbours = connection.execute(
            "SELECT record_id, position, messages, timestamp, payload FROM records INDEXED BY message_numbers "
            f"WHERE session_id = ? AND messages IN ({_marks(numbers)}) AND message_id IS NOT NULL",
            (owner, *sorted(numbers)),
        )
        for record_id, position, *said in neighbours.fetchall():
            if record_id not in candidates and scope.holder(owner, position) == session_id:
                candidate = _make(record_id, session_id, owner, said)
                candidate.chunks = [0]
                candidate.texts = [message_text(candidate.message())[:_NEIGHBOUR_CHARS]]
                yield candidate


def _marks(values: Collection[int]) -> str:
    return ", ".join("?" * len(values))


def _score_rows(connection: WordIndex, query: Query, terms: Terms, scope: Scope, wanted: int) -> dict[int, float]:
    """Returns the rows that match, with the sum of the weights of what they have: all that have a rare word of the
    query, and if these are less than `wanted`, the newest that have a common one."""
    every = terms.all()
    chosen = _rarest(every, _ROOM / scope.share)
    scores: dict[int, float] = {}

    def add(expression: str, limit: int, weight: float, before: float = 0.0) -> None:
        for row_id in scope.rows(connection, expression, limit):
            scores[row_id] = scores.get(row_id, before) + weight

    for term in chosen:
        add(term.expression, _ROOM, term.weight)
    rare = " OR ".join(term.expression for term in chosen)
    for term in every[len(chosen) :]:
        if len(scores) < wanted:
            add(term.expression, _ROOM, term.weight)
        elif term.weight >= _LEAST_WEIGHT * every[0].weight:
            add(f"({rare}) AND ({term.expression})", _ROOM, term.weight, chosen[-1].weight)
    if len(query.stems) <= _FEW_WORDS < len(query.phrase):
        whole = " AND ".join(f'"{word}"' for word in dict.fromkeys(map(stem, query.phrase)))
        add(whole, _QUOTING, sum(term.weight for term in every))
    return scores


def _best_rows(connection: WordIndex, scores: Mapping[int, float], most: int) -> list[int]:
    """Returns the `most` rows with the highest scores, best first; of those with the same words the shorter ones are
    better."""
    best = nlargest(most, scores, key=lambda row: (scores[row], row))
    lengths = connection.row_lengths(best)
    shortened = {row: scores[row] / (1 + max(0, lengths[row] - _SHORT) / _LONG) for row in best}
    return sorted(best, key=lambda row: (shortened[row], row), reverse=True)


def _rarest(terms: Sequence[Term], room: float) -> Sequence[Term]:
    """Returns the rarest terms that match at most `room` rows together, or the rarest one."""
    taken = 0
    for count, term in enumerate(terms):
        taken += term.rows
        if taken > room:
            return terms[: max(1, count)]
    return terms


def _candidate(connection: WordIndex, record_id: int, scope: Scope) -> Candidate | None:
    owner, position, *said = connection.execute(
        "SELECT session_id, position, messages, timestamp, payload FROM records WHERE record_id = ?", (record_id,)
    ).fetchone()
    session_id = scope.holder(owner, position)
    return None if session_id is None else _make(record_id, session_id, owner, said)


def _make(record_id: int, session_id: str, owner: str, said: Sequence[Any]) -> Candidate:
    """Returns the candidate of a record; `said` are its number, time and payload. Its texts are still to be read."""
    number, time, payload = said
    return Candidate(
        record_id=record_id,
        session_id=session_id,
        owner=owner,
        number=number,
        size=len(payload),
        time=time,
        payload=payload,
    )


def _read_texts(candidate: Candidate) -> None:
    text = message_text(candidate.message())
    if candidate.chunks == [0]:
        places = [next(chunks(text), (0, 0))]
    else:
        every = list(chunks(text))
        places = [every[number] for number in candidate.chunks]
    candidate.texts = [text[start:stop] for start, stop in places]
