"""The full-text index: filled when a search comes, so that appending costs nothing for it."""

import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

from ullage.model.events import MessageAppended
from ullage.service.ports import SearchHit
from ullage.store.codec import decode_event, event_name, storable
from ullage.store.connection import transaction
from ullage.store.log import lineage
from ullage.store.search_text import message_text

# Messages indexed in one transaction: short enough that other processes' appends hardly wait.
BATCH = 200
_SNIPPET_TOKENS = 24
_MESSAGE = event_name(MessageAppended)

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

Holder = Callable[[str, int], str | None]


class _Match(Struct, frozen=True, kw_only=True):
    """A record that matches; `session_id` is the session it is shown in."""

    record_id: int
    session_id: str
    score: float


def search_messages(
    connection: sqlite3.Connection, words: Sequence[str], session_id: str | None, limit: int
) -> tuple[SearchHit, ...]:
    """Messages with all words, best first by BM25 (https://www.sqlite.org/fts5.html#the_bm25_function); in one
    session, or in all, each message once."""
    expression = match_expression(words)
    holder = _holder_of_all(connection) if session_id is None else _holder_of_one(connection, session_id)
    matches = _find_matches(connection, expression, holder, limit)
    return tuple(_hit(connection, expression, match) for match in matches)


def match_expression(words: Sequence[str]) -> str:
    """Words as FTS5 strings, in which nothing is syntax (https://www.sqlite.org/fts5.html#fts5_strings)."""
    return " ".join('"{}"'.format(storable(word).replace('"', '""')) for word in words)


def catch_up(connection: sqlite3.Connection, session_id: str | None) -> None:
    """Indexes what the search will look at and the index has not seen: one session's lineage, or everything."""
    for pending in _pending(connection, session_id):
        more = True
        while more:
            with transaction(connection, "IMMEDIATE"):
                more = _index_batch(connection, pending)


def _pending(connection: sqlite3.Connection, session_id: str | None) -> list[str]:
    if session_id is not None:
        return [span.session_id for span in lineage(connection, session_id)]
    rows = connection.execute(
        "SELECT session_id FROM sessions s "
        "WHERE indexed_position < (SELECT max(position) FROM records WHERE session_id = s.session_id)"
    )
    return [pending for (pending,) in rows]


def _index_batch(connection: sqlite3.Connection, session_id: str) -> bool:
    """Indexes the next messages of a session; says whether there may be more."""
    rows = connection.execute(
        "SELECT record_id, position, payload FROM records WHERE session_id = :id AND event = :event "
        "AND position > (SELECT indexed_position FROM sessions WHERE session_id = :id) ORDER BY position LIMIT :batch",
        {"id": session_id, "event": _MESSAGE, "batch": BATCH},
    ).fetchall()
    if not rows:
        return False
    connection.executemany(
        "INSERT INTO message_text (rowid, text) VALUES (?, ?)",
        ((record_id, storable(message_text(_message(payload).message))) for record_id, _, payload in rows),
    )
    connection.execute("UPDATE sessions SET indexed_position = ? WHERE session_id = ?", (rows[-1][1], session_id))
    return len(rows) == BATCH


def _find_matches(connection: sqlite3.Connection, expression: str, holder: Holder, limit: int) -> list[_Match]:
    rows = connection.execute(
        "SELECT r.record_id, r.session_id, r.position, message_text.rank FROM message_text "
        "JOIN records r ON r.record_id = message_text.rowid WHERE message_text MATCH ? ORDER BY message_text.rank",
        (expression,),
    )
    matches: list[_Match] = []
    for record_id, owner, position, rank in rows:
        if len(matches) >= limit:
            break
        shown_in = holder(owner, position)
        if shown_in is not None:
            matches.append(_Match(record_id=record_id, session_id=shown_in, score=-rank))
    return matches


def _holder_of_all(connection: sqlite3.Connection) -> Holder:
    def find(owner: str, position: int) -> str | None:
        row = connection.execute(_HOLDER, {"owner": owner, "position": position}).fetchone()
        return None if row is None else row[0]

    return find


def _holder_of_one(connection: sqlite3.Connection, session_id: str) -> Holder:
    stops = {span.session_id: span.stop for span in lineage(connection, session_id)}
    return lambda owner, position: session_id if position < stops.get(owner, 0) else None


def _hit(connection: sqlite3.Connection, expression: str, match: _Match) -> SearchHit:
    payload, messages, snippet = connection.execute(
        "SELECT r.payload, r.messages, snippet(message_text, 0, '**', '**', '…', ?) FROM message_text "
        "JOIN records r ON r.record_id = message_text.rowid WHERE message_text MATCH ? AND message_text.rowid = ?",
        (_SNIPPET_TOKENS, expression, match.record_id),
    ).fetchone()
    message = _message(payload).message
    return SearchHit(
        session_id=match.session_id,
        message_id=message.id,
        index=messages - 1,
        role=message.role.value,
        score=match.score,
        snippet=snippet,
    )


def _message(payload: bytes) -> MessageAppended:
    event = decode_event(payload)
    assert isinstance(event, MessageAppended)
    return event
