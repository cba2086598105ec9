"""Finds messages by words: candidates from the full-text index, ranked by message."""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct

from ullage.service.ports import SearchHit
from ullage.store.log import lineage
from ullage.store.search_index import CHUNK_BITS, read_message
from ullage.store.search_query import Query
from ullage.store.search_snippet import found_in, make_snippet
from ullage.store.search_text import chunks, message_text

# A whole name counts twice what a word does; its words count on their own as well.
_RANK = "bm25(2.0, 1.0)"
# What a message that holds all words of a query scores more than one that holds none: BM25 alone prefers one rare
# word to all the others. The value that does best in `./scripts/bench search` on the first half of the conversations.
_ALL_WORDS = 2.0
# Messages that are looked at closely: several for each that is given, for the second look may turn their order.
_MIN_CANDIDATES, _CANDIDATES_PER_HIT = 40, 3
# Rows that are looked at: all chunks of a huge message may match.
_MAX_ROWS = 2_000

# Who shows a record of a session: the session itself if it is listed, else a listed fork that inherits the record.
_HOLDER = """
    WITH RECURSIVE heirs (session_id, deleted) AS (
        SELECT session_id, deleted FROM sessions WHERE session_id = :owner
        UNION ALL
        SELECT fork.session_id, fork.deleted FROM sessions fork JOIN heirs ON fork.parent_id = heirs.session_id
        WHERE heirs.deleted AND fork.fork_position >= :position
    )
    SELECT session_id FROM heirs WHERE NOT deleted LIMIT 1
"""
_EVERYTHING = (0, 2**63 - 1)

Holder = Callable[[str, int], str | None]


class _Candidate(Struct, kw_only=True):
    """A message of which chunks match; `session_id` is the session it is shown in."""

    record_id: int
    session_id: str
    chunk: int
    best: float
    found: frozenset[str]

    def score(self, query: Query) -> float:
        """The best chunk's BM25, raised by the share of the query's words that the message holds."""
        return self.best * (1 + _ALL_WORDS * len(self.found) / len(query.stems))


def search_messages(
    connection: sqlite3.Connection, query: Query, session_id: str | None, limit: int
) -> tuple[SearchHit, ...]:
    """Messages that hold any of the query, best first, in one session or in all, each message once.

    Rows are scored by BM25 (https://www.sqlite.org/fts5.html#the_bm25_function).
    """
    holder = _holder_of_all(connection) if session_id is None else _holder_of_one(connection, session_id)
    span = _EVERYTHING if session_id is None else _rows_of(connection, session_id)
    wanted = max(_MIN_CANDIDATES, _CANDIDATES_PER_HIT * limit)
    candidates = _find_candidates(connection, query, holder, span, wanted)
    best = sorted(candidates, key=lambda candidate: -candidate.score(query))[:limit]
    return tuple(_hit(connection, query, candidate) for candidate in best)


def _find_candidates(
    connection: sqlite3.Connection, query: Query, holder: Holder, span: tuple[int, int], wanted: int
) -> list[_Candidate]:
    found: dict[int, _Candidate] = {}
    for row_id, score, words in _matches(connection, query, span):
        record_id, chunk = row_id >> CHUNK_BITS, row_id & ((1 << CHUNK_BITS) - 1)
        stems = found_in(words, query)
        if record_id in found:
            found[record_id].found |= stems
        elif len(found) == wanted:
            break
        elif (shown_in := _shown_in(connection, record_id, holder)) is not None:
            found[record_id] = _Candidate(
                record_id=record_id, session_id=shown_in, chunk=chunk, best=score, found=stems
            )
    return list(found.values())


def _matches(connection: sqlite3.Connection, query: Query, span: tuple[int, int]) -> Iterator[tuple[int, float, str]]:
    rows = connection.execute(
        "SELECT rowid, -rank, words FROM message_text WHERE message_text MATCH ? AND rank MATCH ? "
        "AND rowid BETWEEN ? AND ? ORDER BY rank",
        (query.expression, _RANK, *span),
    )
    return islice(rows, _MAX_ROWS)


def _shown_in(connection: sqlite3.Connection, record_id: int, holder: Holder) -> str | None:
    owner, position = connection.execute(
        "SELECT session_id, position FROM records WHERE record_id = ?", (record_id,)
    ).fetchone()
    return holder(owner, position)


def _holder_of_all(connection: sqlite3.Connection) -> Holder:
    def find(owner: str, position: int) -> str | None:
        row = connection.execute(_HOLDER, {"owner": owner, "position": position}).fetchone()
        return None if row is None else row[0]

    return find


def _holder_of_one(connection: sqlite3.Connection, session_id: str) -> Holder:
    stops = {span.session_id: span.stop for span in lineage(connection, session_id)}
    return lambda owner, position: session_id if position < stops.get(owner, 0) else None


def _rows_of(connection: sqlite3.Connection, session_id: str) -> tuple[int, int]:
    """The first and last row that may belong to a session's lineage; others' lie between."""
    ids = [
        record_id
        for span in lineage(connection, session_id)
        for order in ("", "DESC")
        for (record_id,) in connection.execute(
            f"SELECT record_id FROM records WHERE session_id = ? AND position < ? ORDER BY position {order} LIMIT 1",
            (span.session_id, span.stop),
        )
    ]
    return min(ids) << CHUNK_BITS, ((max(ids) + 1) << CHUNK_BITS) - 1


def _hit(connection: sqlite3.Connection, query: Query, candidate: _Candidate) -> SearchHit:
    payload, messages = connection.execute(
        "SELECT payload, messages FROM records WHERE record_id = ?", (candidate.record_id,)
    ).fetchone()
    message = read_message(payload)
    text = message_text(message)
    start, stop = list(chunks(text))[candidate.chunk]
    return SearchHit(
        session_id=candidate.session_id,
        message_id=message.id,
        index=messages - 1,
        role=message.role.value,
        score=candidate.score(query),
        snippet=make_snippet(text[start:stop], query),
    )
