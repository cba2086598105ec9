"""Finds messages by words: takes candidates from the full-text index, ranks them by message, and shows of each the part
that best matches.

Candidates are the messages of the best rows of the index, and their neighbours. A scope is which rows of the index a
search reads, and in which session each of their messages is shown.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ullage.agents.inserted import is_by_agent, speaker_of
from ullage.model.message import Message, ToolResultBlock
from ullage.service.ports.store import ChunkId, Passage, SearchHit
from ullage.store.search.query import (
    Query,
    plain,
    query_tokens,
    read_query,
    says_number,
    says_time,
    speaker_label,
    with_variants,
)
from ullage.store.search.scoring import (
    NOTHING,
    REACH,
    Answers,
    Held,
    Matcher,
    Term,
    Terms,
    lend_by_session,
    place_of_beginning,
    score_asked,
    score_message,
    together,
    weigh_terms,
)
from ullage.store.search.word_index import (
    Counts,
    IndexTransactions,
    Name,
    WantedRows,
    WordIndex,
    chunks,
    chunks_of,
    fold,
    index_some,
    load_vectors,
    message_text,
    places,
    plain_name,
    read_message,
    save_vectors,
    stem,
)
from ullage.store.tables.session_table import lineage, marks, require_session, unpacked

# Rows that are fetched by the rare words of a query: each takes about a microsecond. The common words are counted in
# what these find.
_ROOM = 2_000
# A common word is counted only if it weighs at least this share of the rarest one: others change no order of rows.
_LEAST_WEIGHT = 0.1
# Characters of a message that are read as a neighbour: its beginning says what it is about.
_NEIGHBOUR_CHARS = 800
# A quotation whose words hardly say anything ("but the file was not there") is looked for by all of its words.
_FEW_WORDS = 2
# Of rows that have all words of a quotation, the newest so many are looked at.
_QUOTING = 100
# Tokens up to which a row's length counts nothing in the order of rows, so that turns of a talk are equal; and those
# beyond them that halve a row's score.
_SHORT, _LONG = 50, 150
# Rows that are read for each message that is wanted: a long message may have several.
_ROWS_PER_MESSAGE = 3
_LAST = 2**63 - 1
# The sessions in which the records of others are shown up to the position `reach`: their own session if that is listed,
# else a listed fork that inherits them.
_HEIRS = """
    WITH RECURSIVE heirs (owner, session_id, deleted, reach) AS (
        SELECT session_id, session_id, deleted, CAST(? AS BIGINT) FROM sessions WHERE session_id IN ({})
        UNION ALL
        SELECT heirs.owner, fork.session_id, fork.deleted,
            CASE WHEN fork.fork_position < heirs.reach THEN fork.fork_position ELSE heirs.reach END
        FROM sessions fork JOIN heirs ON fork.parent_id = heirs.session_id
        WHERE heirs.deleted
    )
    SELECT owner, session_id, reach FROM heirs WHERE NOT deleted
"""
# Returns the session in which a record of a session at a position is shown, None if there is none.
Holder = Callable[[str, int], str | None]


class Scope(Struct, frozen=True, kw_only=True):
    """Which rows of the index a search reads: those in the ranges `parts` of ids, the first and the last. `stops` are
    the sessions that are searched, with the positions at which each ends, None for all sessions; `session_id` is the
    one in which their records are shown then. `share` is about how much of the index these rows are, more than 0 and at
    most 1. `only` are the rows in the ranges that are read, None for all."""

    parts: tuple[tuple[int, int], ...]
    session_id: str | None = None
    stops: Mapping[str, int] | None = None
    share: float = 1.0
    only: frozenset[int] | None = None

    def rows(self, connection: WordIndex, expressions: Sequence[tuple[str, int]], limit: int) -> list[list[int]]:
        """Returns the ids of the rows in the scope that match each of the expressions, which are given with about how
        many rows match them: at most `limit` of each part, the newest first."""
        asked = [
            WantedRows(expression, first, last, limit if self.only is None else None, expected)
            for expression, expected in expressions
            for first, last in self.parts
        ]
        found = iter(connection.find_rows(asked))
        return [
            [row_id for _ in self.parts for row_id in islice(filter(self._has, next(found)), limit)]
            for _ in expressions
        ]

    def holder(self, connection: WordIndex, owners: Collection[str]) -> Holder:
        """Returns where the records of these sessions are shown."""
        stops, shown_in = self.stops, self.session_id
        if stops is not None:
            return lambda owner, position: shown_in if position < stops.get(owner, 0) else None
        heirs: dict[str, list[tuple[str, int]]] = {}
        if owners:
            for owner, session_id, reach in connection.execute(_HEIRS.format(marks(owners)), (_LAST, *owners)):
                heirs.setdefault(owner, []).append((session_id, reach))
        return lambda owner, position: next(
            (session_id for session_id, reach in heirs.get(owner, ()) if position <= reach), None
        )

    def _has(self, row_id: int) -> bool:
        return self.only is None or row_id in self.only


def find_scope(connection: WordIndex, session_id: str | None) -> Scope:
    """Returns the scope of a search of one session and its ancestors, or of everything if `session_id` is None."""
    return _everything(connection) if session_id is None else _one_session(connection, session_id)


def _everything(connection: WordIndex) -> Scope:
    return Scope(parts=((0, connection.further - 1), (connection.further, _LAST)))


def _one_session(connection: WordIndex, session_id: str) -> Scope:
    """Returns the scope of a search in one session and its ancestors. A range of row ids keeps the search fast; the
    session of each row in the range is checked."""
    stops = {span.session_id: span.stop for span in lineage(connection, session_id)}
    ids = [
        record_id
        for owner, stop in stops.items()
        for order in ("ASC", "DESC")
        for (record_id,) in connection.execute(
            f"SELECT record_id FROM records WHERE session_id = ? AND position < ? ORDER BY position {order} LIMIT 1",
            (owner, stop),
        )
    ]
    further = connection.execute(
        "SELECT min(first_row), max(first_row + chunks) FROM message_chunks WHERE record_id >= ? AND record_id <= ?",
        (min(ids), max(ids)),
    ).fetchone()
    return Scope(
        parts=((min(ids), max(ids)), *([(further[0], further[1] - 1)] if further[0] else [])),
        session_id=session_id,
        stops=stops,
        share=(max(ids) + 1 - min(ids)) / max(1, connection.last_record()),
        only=_rows_among_others(connection, stops, max(ids) + 1 - min(ids)),
    )


def _rows_among_others(connection: WordIndex, stops: Mapping[str, int], width: int) -> frozenset[int] | None:
    """Returns the rows of these sessions, each up to a position, if other sessions have records among the `width`
    ones of their range; None if not. The sessions of agents that run side by side grow in turn."""
    records = [
        record_id
        for owner, stop in stops.items()
        for (record_id,) in connection.execute(
            "SELECT record_id FROM records WHERE session_id = ? AND position < ?", (owner, stop)
        )
    ]
    if len(records) == width:
        return None
    found = frozenset(records)
    further = connection.execute(
        "SELECT record_id, first_row, chunks FROM message_chunks WHERE record_id >= ? AND record_id <= ?",
        (min(records), max(records)),
    )
    return found.union(*(range(first, first + count) for record_id, first, count in further if record_id in found))


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
        return read_message(self.payload)


def find_candidates(
    connection: WordIndex, query: Query, terms: Terms, scope: Scope, wanted: int
) -> tuple[dict[int, Candidate], Holder]:
    """Returns at most `wanted` messages that match the query, by their record's id, those with the most and rarest of
    its words; and where other records of the same sessions are shown."""
    scores = _score_rows(connection, query, terms, scope, wanted)
    best = _best_rows(connection, scores, 2 * _ROWS_PER_MESSAGE * wanted)
    rows = chunks_of(connection, best)
    owned = _read_places(connection, {record_id for record_id, _ in rows})
    holder = scope.holder(connection, {owner for owner, _ in owned.values()})
    shown = {record_id: session_id for record_id, place in owned.items() if (session_id := holder(*place)) is not None}
    chosen: dict[int, list[int]] = {}
    taken = 0
    for record_id, chunk in rows:
        if record_id in shown and (record_id in chosen or len(chosen) < wanted):
            chosen.setdefault(record_id, []).append(chunk)
            taken += 1
            if taken == _ROWS_PER_MESSAGE * wanted:
                break
    return _read_candidates(connection, chosen, shown), holder


def find_around(connection: WordIndex, candidates: Mapping[int, Candidate], holder: Holder) -> Iterator[Candidate]:
    """Yields the messages at most `REACH` messages before or after one of the candidates (by their record's id), in the
    same session and shown where the candidate is, each once, with its first chunk, without the candidates."""
    wanted: dict[tuple[str, int], set[str]] = {}
    for one in candidates.values():
        for number in range(one.number - REACH, one.number + REACH + 1):
            wanted.setdefault((one.owner, number), set()).add(one.session_id)
    if not wanted:
        return
    neighbours = connection.execute(
        f"WITH wanted (owner, number) AS (VALUES {marks(wanted, '(?, ?)')}) "
        "SELECT r.record_id, r.session_id, r.position, r.messages, r.timestamp, r.payload "
        "FROM wanted w JOIN records r INDEXED BY message_numbers "
        "ON r.session_id = w.owner AND r.messages = w.number AND r.message_id IS NOT NULL",
        [value for pair in wanted for value in pair],
    )
    for record_id, owner, position, *said in neighbours.fetchall():
        session_id = holder(owner, position)
        if record_id not in candidates and session_id in wanted[owner, said[0]]:
            candidate = _make(record_id, session_id, owner, said)
            candidate.chunks = [0]
            candidate.texts = [message_text(candidate.message())[:_NEIGHBOUR_CHARS]]
            yield candidate


def _score_rows(connection: WordIndex, query: Query, terms: Terms, scope: Scope, wanted: int) -> dict[int, float]:
    """Returns the rows that match, with the sum of the weights of what they have: all that have a rare word of the
    query, and if these are less than `wanted`, the newest that have a common one."""
    every = terms.all()
    chosen = _rarest(every, _ROOM / scope.share)
    scores: dict[int, float] = {}

    def add(terms: Sequence[Term], limit: int = _ROOM, before: float = 0.0) -> None:
        found = scope.rows(connection, [(term.expression, term.rows) for term in terms], limit) if terms else []
        for term, rows in zip(terms, found, strict=True):
            for row_id in rows:
                scores[row_id] = scores.get(row_id, before) + term.weight

    add(chosen)
    common = [*every[len(chosen) :]]
    while common and len(scores) < wanted:
        add([common.pop(0)])
    if common:
        rare = " OR ".join(term.expression for term in chosen)
        share = sum(term.rows for term in chosen) / terms.total
        add(
            [
                Term(f"({rare}) AND ({term.expression})", int(share * term.rows), term.weight)
                for term in common
                if term.weight >= _LEAST_WEIGHT * every[0].weight
            ],
            before=chosen[-1].weight,
        )
    if len(query.stems) <= _FEW_WORDS < len(query.phrase):
        whole = " AND ".join(f'"{word}"' for word in dict.fromkeys(map(stem, query.phrase)))
        add([Term(whole, 0, sum(term.weight for term in every))], _QUOTING)
    return scores


def _best_rows(connection: WordIndex, scores: Mapping[int, float], most: int) -> list[int]:
    """Returns the `most` rows of the highest scores, best first; of the same words the shorter ones."""
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


def _read_places(connection: WordIndex, record_ids: Collection[int]) -> dict[int, tuple[str, int]]:
    """Returns the sessions that wrote these records, and the records' positions there."""
    if not record_ids:
        return {}
    rows = connection.execute(
        f"SELECT record_id, session_id, position FROM records WHERE record_id IN ({marks(record_ids)})", [*record_ids]
    )
    return {record_id: (owner, position) for record_id, owner, position in rows}


def _read_candidates(
    connection: WordIndex, chosen: Mapping[int, list[int]], shown: Mapping[int, str]
) -> dict[int, Candidate]:
    """Returns the candidates of these records with these chunks, in the same order."""
    if not chosen:
        return {}
    rows = connection.execute(
        f"SELECT record_id, session_id, messages, timestamp, payload FROM records WHERE record_id IN ({marks(chosen)})",
        [*chosen],
    )
    read = {record_id: (owner, said) for record_id, owner, *said in rows}
    found: dict[int, Candidate] = {}
    for record_id, parts in chosen.items():
        owner, said = read[record_id]
        candidate = found[record_id] = _make(record_id, shown[record_id], owner, said)
        candidate.chunks = parts
        text = message_text(candidate.message())
        if candidate.chunks == [0]:
            places = [next(chunks(text), (0, 0))]
        else:
            every = list(chunks(text))
            places = [every[number] for number in candidate.chunks]
        candidate.texts = [text[start:stop] for start, stop in places]
    return found


def _make(record_id: int, session_id: str, owner: str, said: Sequence[Any]) -> Candidate:
    """Returns the candidate of a record; `said` are its number, time and payload. Its texts are still to be read."""
    number, time, kept = said
    payload = unpacked(kept)
    return Candidate(
        record_id=record_id,
        session_id=session_id,
        owner=owner,
        number=number,
        size=len(payload),
        time=time,
        payload=payload,
    )


# The share of a query's words from which on a message is likely enough about it that its neighbours are, too.
_HALF = 0.5
# Words of a query up to which more than half of them must be near each other in a message that fits it; of a longer
# query half of them is enough. Of questions asked of another conversation than theirs, which cannot answer them, nine
# in ten find no such message (with the words anywhere in it, half of them); of 163 that found their answer, one.
_SHORT_QUESTION = 4
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
    session or in all, each message once, also if several sessions have it. A query of several words also finds messages
    next to those.

    A message is scored by its own text first, then by what is around it.
    """
    scope = find_scope(connection, session_id)
    terms = weigh_terms(connection, query, counts)
    wanted = max(_MIN_CANDIDATES, _CANDIDATES_PER_HIT * limit)
    matching, holder = find_candidates(connection, query, terms, scope, wanted)
    texts = [text for one in matching.values() for text in one.texts]
    matcher = Matcher(query, terms, sum(map(len, texts)) / max(1, len(texts)))
    neighbours = {one.record_id: one for one in find_around(connection, matching, holder)}
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
    if query.quoted:
        # What was quoted stands first, whatever else is said there.
        best.sort(key=lambda one: not _says(one.candidate, query.quoted))
    return tuple(_passage(query, one) for one in islice(_without_copies(best), limit))


def _without_copies(scored: Iterable[_Scored]) -> Iterator[_Scored]:
    """Yields each message once. Some agents write what was said before a fork, or before a conversation was resumed, to
    another file again: it has the same text and time in other sessions."""
    shown: dict[tuple[int, str], str] = {}
    for one in scored:
        session_id, message = one.candidate.session_id, one.candidate.message()
        first = shown.setdefault((message.timestamp, message_text(message)), session_id) if message.timestamp else ""
        if first in ("", session_id):
            yield one


def _says(candidate: Candidate, quoted: Sequence[str]) -> bool:
    said = plain(message_text(candidate.message()))
    return all(one in said for one in quoted)


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
    return words // 2 + 1 if words <= _SHORT_QUESTION else (words + 1) // 2


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
    """Returns whether a message is what the asked speaker said. Neither said a tool's result, nor what an agent's
    program wrote in the user's place."""
    is_result = any(isinstance(block, ToolResultBlock) for block in message.content)
    return message.role is query.speaker and not is_result and not is_by_agent(message)


def _passage(query: Query, scored: _Scored) -> Passage:
    candidate = scored.candidate
    message = candidate.message()
    text = message_text(message)
    start, stop = next(islice(chunks(text), candidate.chunk, None), (0, 0))
    hit = SearchHit(
        session_id=candidate.session_id,
        message_id=message.id,
        index=candidate.number - 1,
        role=speaker_of(message),
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
