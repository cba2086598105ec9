"""The full-text index. A search fills it, so that appending costs nothing for it."""

import sqlite3
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.model.events import MessageAppended
from ullage.model.message import Message
from ullage.store.codec import decode_event, event_name, storable
from ullage.store.database import transaction
from ullage.store.indexed_text import chunks, message_text
from ullage.store.log import lineage
from ullage.store.search_words import columns

# Bytes of messages that one step indexes. Making words of them takes some tens of milliseconds, outside of the
# transaction; writing takes a few, so that no append waits long.
STEP_BYTES = 200_000
# A row is a chunk of a record. Its id is the record's id, shifted left by this many bits, plus the chunk's number.
CHUNK_BITS = 20
_MESSAGE = event_name(MessageAppended)

_Row = tuple[int, str, str]


class _Pending(Struct, frozen=True):
    """A session with `left` records after `position` that are not indexed."""

    session_id: str
    position: int
    left: int


class _Step(Struct, frozen=True):
    """Rows that bring a session's index up to and including `position`."""

    position: int
    rows: Sequence[_Row]


def index_some(connection: sqlite3.Connection, session_id: str | None) -> int:
    """Indexes a part of what a search of the session, or of all sessions, will use. Returns how many records are
    left; 0 once the index is complete."""
    with transaction(connection, "DEFERRED"):
        pending = _pending(connection, session_id)
        step = _read_step(connection, pending[0]) if pending else None
    if step is None:
        return 0
    with transaction(connection, "IMMEDIATE"):
        _write_step(connection, pending[0], step)
        return sum(session.left for session in _pending(connection, session_id))


def drop_texts(connection: sqlite3.Connection, record_ids: Sequence[int]) -> None:
    """Removes records from the index."""
    connection.executemany(
        "DELETE FROM message_text WHERE rowid >= ? AND rowid < ?",
        ((record_id << CHUNK_BITS, (record_id + 1) << CHUNK_BITS) for record_id in record_ids),
    )


def read_message(payload: bytes) -> Message:
    """Returns the message of a record that appended one."""
    event = decode_event(payload)
    assert isinstance(event, MessageAppended)
    return event.message


def _pending(connection: sqlite3.Connection, session_id: str | None) -> list[_Pending]:
    """Returns sessions with records that are not indexed. An inherited record is indexed in the session that it was
    written in."""
    rows = connection.execute(
        "SELECT session_id, seen, last FROM ("
        "    SELECT session_id, max(indexed_position, coalesce(fork_position, -1)) seen,"
        "        (SELECT max(position) FROM records WHERE session_id = s.session_id) last FROM sessions s"
        ") WHERE seen < last"
    )
    sessions = [_Pending(owner, seen, last - seen) for owner, seen, last in rows]
    if session_id is None:
        return sessions
    wanted = {span.session_id for span in lineage(connection, session_id)}
    return [session for session in sessions if session.session_id in wanted]


def _read_step(connection: sqlite3.Connection, pending: _Pending) -> _Step:
    records = connection.execute(
        "SELECT record_id, position, event, payload FROM records WHERE session_id = ? AND position > ? "
        "ORDER BY position",
        (pending.session_id, pending.position),
    )
    rows: list[_Row] = []
    seen, reached = 0, pending.position
    for record_id, position, event, payload in records:
        reached = position
        if event == _MESSAGE:
            rows += _rows(record_id, read_message(payload))
            seen += len(payload)
        if seen >= STEP_BYTES:
            break
    return _Step(reached, rows)


def _rows(record_id: int, message: Message) -> Iterator[_Row]:
    text = message_text(message)
    for number, (start, stop) in enumerate(chunks(text)):
        names, words = columns(storable(text[start:stop]))
        yield (record_id << CHUNK_BITS) + number, names, words


def _write_step(connection: sqlite3.Connection, pending: _Pending, step: _Step) -> None:
    taken = connection.execute(
        # Another process may have done the same step in the meantime, or deleted the session.
        "UPDATE sessions SET indexed_position = ? "
        "WHERE session_id = ? AND max(indexed_position, coalesce(fork_position, -1)) = ?",
        (step.position, pending.session_id, pending.position),
    )
    if taken.rowcount:
        connection.executemany("INSERT INTO message_text (rowid, names, words) VALUES (?, ?, ?)", step.rows)
