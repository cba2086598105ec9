"""The records of a session: its own and, for a fork, those it inherits."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct

from ullage.model.errors import ConcurrentAppend, InvalidRequest
from ullage.model.events import MessageAppended, Record
from ullage.store.tables.connection import Connection, decode_event, encode_event, event_name, storable

# SQLite's largest integer: the end of a log that still grows.
NO_END = 2**63 - 1

_Row = tuple[str, int, int, str, int, str | None, bytes]


class Span(Struct, frozen=True, kw_only=True):
    """The records `start <= position < stop` of the session `session_id`. A fork's log consists of spans of its
    ancestors and its own."""

    session_id: str
    start: int
    stop: int


class Tail(Struct, frozen=True, kw_only=True):
    """The position of the last record of a log, and the number of messages up to it. An empty log has -1 and 0."""

    position: int = -1
    messages: int = 0


def lineage(connection: Connection, session_id: str, stop: int = NO_END) -> Iterator[Span]:
    """Yields the spans that make up a session's log before position `stop`, newest first: its own, then its ancestors'.
    Reads only as many ancestors as the caller iterates. Yields nothing for an unknown session."""
    current: str | None = session_id
    while current is not None and stop > 0:
        row = connection.execute(
            "SELECT parent_id, fork_position FROM sessions WHERE session_id = ?", (current,)
        ).fetchone()
        if row is None:
            return
        parent_id, fork_position = row
        start = 0 if fork_position is None else fork_position + 1
        if start < stop:
            yield Span(session_id=current, start=start, stop=stop)
        current, stop = parent_id, min(start, stop)


def read_records(connection: Connection, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
    """Returns the records of the session's log with `start <= position < stop`, inherited ones included."""
    spans: list[Span] = []
    for span in lineage(connection, session_id, stop):
        spans.append(span)
        if span.start <= start:
            break
    return tuple(record for span in reversed(spans) for record in _read_span(connection, span, start))


def read_messages(connection: Connection, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
    """Returns the records that appended the session's messages with `start <= index < stop`, inherited ones
    included."""
    return _read_by_index(
        connection,
        session_id,
        "INDEXED BY message_numbers WHERE session_id = ? AND position < ? AND message_id IS NOT NULL "
        "AND messages > ? AND messages <= ? ORDER BY messages",
        (start, stop),
    )


def read_edits(connection: Connection, session_id: str) -> tuple[Record, ...]:
    """Returns the records that make, undo or redo an edit, inherited ones included, oldest first."""
    return _read_by_index(
        connection,
        session_id,
        "INDEXED BY edits WHERE session_id = ? AND position < ? AND event IN ('context_edited', 'edit_reverted') "
        "ORDER BY position",
        (),
    )


def find_tail(connection: Connection, session_id: str, stop: int = NO_END) -> Tail:
    """Returns the last record before `stop`, the session's own or an inherited one. Returns `Tail()` if there is
    none."""
    for span in lineage(connection, session_id, stop):
        row = connection.execute(
            "SELECT position, messages FROM records WHERE session_id = ? AND position < ? "
            "ORDER BY position DESC LIMIT 1",
            (span.session_id, span.stop),
        ).fetchone()
        if row is not None:
            return Tail(position=row[0], messages=row[1])
    return Tail()


def find_in_lineage(connection: Connection, session_id: str, message_id: str) -> Record | None:
    """Returns the record that appended a message, the session's own or an inherited one; the last if there are several.
    Returns None if there is no such message."""
    row = _find_by_id(connection, session_id, message_id, "position, timestamp, payload")
    return None if row is None else _record(*row)


def find_index(connection: Connection, session_id: str, message_id: str) -> int | None:
    """Returns the message's index among the appended messages, from 0; the last one's if there are several. Returns
    None if there is no such message."""
    row = _find_by_id(connection, session_id, message_id, "messages")
    return None if row is None else row[0] - 1


def _find_by_id(connection: Connection, session_id: str, message_id: str, columns: str) -> Any:
    for span in lineage(connection, session_id):
        row = connection.execute(
            # Without the hint SQLite walks the log backwards, because of the order.
            f"SELECT {columns} FROM records INDEXED BY message_ids "
            "WHERE session_id = ? AND message_id = ? AND position < ? ORDER BY position DESC LIMIT 1",
            (span.session_id, storable(message_id), span.stop),
        ).fetchone()
        if row is not None:
            return row
    return None


def insert_records(connection: Connection, session_id: str, tail: Tail, records: Sequence[Record]) -> None:
    """Writes records to the session's log after `tail`. Raises `ConcurrentAppend` if the first record's position is not
    the next one, and `InvalidRequest` if positions have gaps."""
    check_positions(session_id, tail.position + 1, records)
    connection.executemany(
        "INSERT INTO records (session_id, position, timestamp, event, messages, message_id, payload) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((*row, connection.kept(payload)) for *row, payload in record_rows(session_id, tail.messages, records)),
    )


def check_positions(session_id: str, expected: int, records: Sequence[Record]) -> None:
    """Raises `ConcurrentAppend` if the first record's position is not `expected`, and `InvalidRequest` if positions
    have gaps."""
    positions = [record.position for record in records]
    if positions and positions[0] != expected:
        raise ConcurrentAppend(
            f"session {session_id} goes on at position {expected}, not {positions[0]}: read on and try again"
        )
    if positions != list(range(expected, expected + len(positions))):
        raise InvalidRequest(f"the records for session {session_id} skip or repeat a position")


def _read_by_index(
    connection: Connection, session_id: str, condition: str, values: tuple[int, ...]
) -> tuple[Record, ...]:
    """Returns the records of the session and its ancestors that fulfil an SQL `condition`, oldest first. The first two
    values of the condition are the span's session and its stop, the others are `values`."""
    spans = reversed(list(lineage(connection, session_id)))
    rows = (
        row
        for span in spans
        for row in connection.execute(
            f"SELECT position, timestamp, payload FROM records {condition}", (span.session_id, span.stop, *values)
        )
    )
    return tuple(_record(*row) for row in rows)


def _record(position: int, timestamp: int, payload: bytes) -> Record:
    return Record(position=position, timestamp=timestamp, event=decode_event(payload))


def _read_span(connection: Connection, span: Span, start: int) -> Iterator[Record]:
    rows = connection.stream(
        "SELECT position, timestamp, payload FROM records "
        "WHERE session_id = ? AND position >= ? AND position < ? ORDER BY position",
        (span.session_id, max(span.start, start), span.stop),
    )
    # A record that cannot be read must not keep the connection in use.
    with closing(rows):
        for row in rows:
            yield _record(*row)


def record_rows(session_id: str, messages: int, records: Sequence[Record]) -> Iterator[_Row]:
    """Yields the rows of records after the first `messages` messages of a session."""
    for record in records:
        event = record.event
        message_id = storable(event.message.id) if isinstance(event, MessageAppended) else None
        messages += message_id is not None
        payload = encode_event(event)
        yield session_id, record.position, record.timestamp, event_name(event), messages, message_id, payload
