"""Finds messages by words: takes candidates from the full-text index and ranks them by message.

The search runs in any thread on a connection of its own, so that the store's owner never waits for a search.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from msgspec import Struct

from ullage.service.ports.store import SearchHit
from ullage.store.database import reconnect, transaction
from ullage.store.indexed_text import chunks, message_text
from ullage.store.log import lineage
from ullage.store.search_index import CHUNK_BITS, index_some, read_message
from ullage.store.search_query import Query, found_in, make_snippet, read_query
from ullage.store.session_table import require_session
from ullage.store.sqlite_errors import reporting, unavailable


class Searcher:
    """The searching part of a `SessionStore`. Calls wait for each other; each is short."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def search(self, query: str, session_id: str | None, limit: int) -> tuple[SearchHit, ...]:
        """Implements `SessionStore.search`."""
        wanted = read_query(query)
        while self.index_some(session_id):
            pass
        with self._connected() as connection, transaction(connection, "DEFERRED"):
            if session_id is not None:
                require_session(connection, session_id)
            return search_messages(connection, wanted, session_id, limit)

    def index_some(self, session_id: str | None) -> int:
        """Implements `SessionStore.index_some`."""
        with self._connected() as connection:
            return index_some(connection, session_id)

    def close(self) -> None:
        """Closes the file once the running call has ended."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        with self._lock, reporting(self._path):
            if self._closed:
                # A search in another thread may still be indexing. It must not open the file again.
                raise unavailable(self._path, "is closed")
            if self._connection is None:
                self._connection = reconnect(self._path)
            yield self._connection


# A whole name counts twice as much as a word; its words count on their own as well.
_RANK = "bm25(2.0, 1.0)"
# The gain of a message that holds all words of a query over one that holds none, as a share of its score. With BM25
# alone one rare word outweighs all others, which short queries do not mean. On long questions any value up to 2 does as
# well (`./scripts/bench search`, the dev half: MRR 0.80 among all conversations, 0.94 to 0.95 within one).
_ALL_WORDS = 1.0
# Messages that are scored closely: several for each hit that is returned, because the second score may change their
# order.
_MIN_CANDIDATES, _CANDIDATES_PER_HIT = 40, 3
# Rows that are scored: all chunks of a huge message may match.
_MAX_ROWS = 2_000

# The session in which a record is shown: its own session if that is listed, else a listed fork that inherits the
# record.
_HOLDER = """
    WITH RECURSIVE heirs (session_id, deleted) AS (
        SELECT session_id, deleted FROM sessions WHERE session_id = :owner
        UNION ALL
        SELECT fork.session_id, fork.deleted FROM sessions fork JOIN heirs ON fork.parent_id = heirs.session_id
        WHERE heirs.deleted AND fork.fork_position >= :position
    )
    SELECT session_id FROM heirs WHERE NOT deleted LIMIT 1
"""
Holder = Callable[[str, int], str | None]


class _Scope(Struct, frozen=True, kw_only=True):
    """The scope of a search: an SQL condition on rows with its values, and the session in which a matching record is
    shown."""

    condition: str
    values: tuple[str | int, ...]
    holder: Holder


class _Candidate(Struct, kw_only=True):
    """A message with matching chunks; `session_id` is the session in which it is shown."""

    record_id: int
    session_id: str
    chunk: int
    best: float
    found: frozenset[str] = frozenset()

    def score(self, query: Query) -> float:
        """Returns the BM25 score of the message's best indexed chunk, raised by the share of the query's words that
        the message holds."""
        return self.best * (1 + _ALL_WORDS * len(self.found) / len(query.stems))


def search_messages(
    connection: sqlite3.Connection, query: Query, session_id: str | None, limit: int
) -> tuple[SearchHit, ...]:
    """Returns messages that hold any word of the query, best first, in one session or in all, each message once.

    Rows are scored by BM25 (https://www.sqlite.org/fts5.html#the_bm25_function).
    """
    scope = _everything(connection) if session_id is None else _one_session(connection, session_id)
    wanted = max(_MIN_CANDIDATES, _CANDIDATES_PER_HIT * limit)
    candidates = _find_candidates(connection, query, scope, wanted)
    best = sorted(candidates, key=lambda candidate: -candidate.score(query))[:limit]
    return tuple(_hit(connection, query, candidate) for candidate in best)


def _find_candidates(connection: sqlite3.Connection, query: Query, scope: _Scope, wanted: int) -> Sequence[_Candidate]:
    found: dict[int, _Candidate] = {}
    hidden: set[int] = set()
    rows = 0
    for row_id, score, words in _matches(connection, query, scope):
        record_id, chunk = divmod(row_id, 1 << CHUNK_BITS)
        if record_id in hidden:
            continue
        if record_id not in found:
            if len(found) == wanted:
                break
            session_id = _shown_in(connection, record_id, scope.holder)
            if session_id is None:
                hidden.add(record_id)
                continue
            found[record_id] = _Candidate(record_id=record_id, session_id=session_id, chunk=chunk, best=score)
        found[record_id].found |= found_in(words, query)
        rows += 1
        if rows == _MAX_ROWS:
            break
    return list(found.values())


def _matches(connection: sqlite3.Connection, query: Query, scope: _Scope) -> Iterator[tuple[int, float, str]]:
    """Yields matching rows as id, score and words, best first."""
    return connection.execute(
        "SELECT rowid, -rank, words FROM message_text "
        f"WHERE message_text MATCH ? AND rank MATCH ? AND {scope.condition} ORDER BY rank",
        (query.expression, _RANK, *scope.values),
    )


def _shown_in(connection: sqlite3.Connection, record_id: int, holder: Holder) -> str | None:
    owner, position = connection.execute(
        "SELECT session_id, position FROM records WHERE record_id = ?", (record_id,)
    ).fetchone()
    return holder(owner, position)


def _everything(connection: sqlite3.Connection) -> _Scope:
    def find(owner: str, position: int) -> str | None:
        row = connection.execute(_HOLDER, {"owner": owner, "position": position}).fetchone()
        return None if row is None else row[0]

    return _Scope(condition="TRUE", values=(), holder=find)


def _one_session(connection: sqlite3.Connection, session_id: str) -> _Scope:
    """Returns the rows between the first and the last that may belong to the session's lineage, without those of
    other sessions."""
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
    owners = ", ".join("?" * len(stops))
    return _Scope(
        condition=f"rowid >= ? AND rowid < ? AND (SELECT session_id FROM records "
        f"WHERE record_id = message_text.rowid >> {CHUNK_BITS}) IN ({owners})",
        values=(min(ids) << CHUNK_BITS, (max(ids) + 1) << CHUNK_BITS, *stops),
        holder=lambda owner, position: session_id if position < stops.get(owner, 0) else None,
    )


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
