"""The tables of sessions and records: which sessions exist, what the list shows of them, their ancestry, which records
may be dropped, and the records of a session: its own and, for a fork, those it inherits. Also what the tables need of
a database, and how values are encoded.

The statements are SQL that SQLite and PostgreSQL understand. SQLite's placeholders (`?`) and index hints (`INDEXED
BY`) are the only parts that `postgres/text_index.py` rewrites. Events are JSON, and what SQLite keeps is compressed. A
kept value says by its first byte what it is: JSON begins with `{`, a stream of zlib with 0x78 (RFC 1950, section 2.2).
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import closing
from typing import Any, Protocol, cast

import msgspec
from msgspec import Struct

from ullage.model.errors import ConcurrentAppend, Conflict, InvalidRequest, SessionNotFound
from ullage.model.events import (
    AgentAttached,
    ConversationImported,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    SessionRenamed,
)
from ullage.model.json_values import decode_json, encode_json
from ullage.service.ports.store import AttachedSession, ImportedSession, SessionInfo


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""
        ...

    def fetchone(self) -> Any:
        """Returns the next row as a tuple, or None after the last one."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the remaining rows."""
        ...


class Stream(Protocol):
    """The rows of a statement, one after the other."""

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the rows."""
        ...

    def close(self) -> object:
        """Ends the statement."""
        ...


class Connection(Protocol):
    """A connection to a database, with a transaction open."""

    def kept(self, value: bytes, /) -> bytes:
        """Returns a payload or a snapshot as the database is to keep it: `packed`, unless it compresses by itself."""
        ...

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        """Runs a statement with a value for each placeholder, and returns its rows."""
        ...

    def stream(self, statement: str, values: Sequence[Any], /) -> Stream:
        """Runs a statement and yields its rows. The connection is in use until the stream is read or closed."""
        ...

    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> Any:
        """Runs a statement once for each sequence of values."""
        ...


def marks(values: Sized, mark: str = "?") -> str:
    """Returns placeholders for the values: many values in one statement are faster than many statements."""
    return ", ".join([mark] * len(values))


# Bytes. Shorter values are many and have a twentieth of the size that longer ones save.
_PACKED_FROM = 512
_ZLIB = b"\x78"

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """Returns an event as UTF-8 JSON, half surrogate pairs included."""
    return encode_json(event)


def decode_event(payload: bytes) -> Event:
    """Returns the event of a payload, also a packed one. Raises `msgspec.DecodeError` if it is none."""
    payload = unpacked(payload)
    try:
        return _DECODER.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_json(payload, cast("type[Event]", Event))


def packed(value: bytes, least: float = _PACKED_FROM) -> bytes:
    """Returns a payload or a snapshot compressed if it has at least `least` bytes, otherwise as it is."""
    # What begins as a stream would be taken for one.
    return zlib.compress(value) if len(value) >= least or value[:1] == _ZLIB else value


def unpacked(value: bytes) -> bytes:
    """Returns what was given to `packed`. Raises `msgspec.DecodeError` if a compressed value is damaged."""
    if value[:1] != _ZLIB:
        return value
    try:
        return zlib.decompress(value)
    except zlib.error as error:
        raise msgspec.DecodeError(str(error)) from error


def event_name(event: Event | type[Event]) -> str:
    """Returns the name of an event or of a class of events in the store, for example `message_appended`."""
    return str(event.__struct_config__.tag)


def storable(text: str) -> str:
    r"""Returns the text as SQLite accepts it: half surrogate pairs are written as escapes (`\ud83d`)."""
    return text.encode("utf-8", "backslashreplace").decode()


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
    """Returns the records of messages with `start <= index < stop`, inherited ones too. Raises `SessionNotFound`."""
    return _read_by_index(
        connection,
        session_id,
        "INDEXED BY message_numbers WHERE session_id = ? AND position < ? AND message_id IS NOT NULL "
        "AND messages > ? AND messages <= ? ORDER BY messages",
        (start, stop),
    )


def read_edits(connection: Connection, session_id: str) -> tuple[Record, ...]:
    """Returns the records that make, undo or redo an edit, inherited ones included, oldest first. Raises
    `SessionNotFound`."""
    return _read_by_index(
        connection,
        session_id,
        "INDEXED BY edits WHERE session_id = ? AND position < ? AND event IN ('context_edited', 'edit_reverted') "
        "ORDER BY position",
        (),
    )


def read_imports(connection: Connection, session_id: str) -> tuple[Record, ...]:
    """Returns the records that say from where a session was imported, inherited ones included, oldest first. Raises
    `SessionNotFound`."""
    return _read_by_index(
        connection,
        session_id,
        f"WHERE session_id = ? AND position < ? AND event = '{event_name(ConversationImported)}' ORDER BY position",
        (),
    )


def find_tail(connection: Connection, session_id: str, stop: int = NO_END) -> Tail:
    """Returns the last record before `stop`, also an inherited one, or `Tail()` if there is none."""
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
    """Returns the message's index among the appended ones, from 0, the last of several; None without it. Raises
    `SessionNotFound`."""
    require_session(connection, session_id)
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
    """Raises `ConcurrentAppend` if the first position is not `expected`, `InvalidRequest` for gaps."""
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
    values of the condition are the span's session and its stop, the others are `values`. Raises `SessionNotFound`."""
    require_session(connection, session_id)
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


# No join: with row-level security PostgreSQL takes no index for a position that another subquery gives. And no
# `session_id = …` within: PostgreSQL expects few records of a session, until its statistics know better, and reads and
# sorts all of them. In the order of the index it reads one.
_LAST = f"""(SELECT {{0}} FROM (
    SELECT session_id, {{0}} FROM records WHERE (session_id, position) <= (s.session_id, {NO_END})
    ORDER BY session_id DESC, position DESC LIMIT 1
) AS l WHERE l.session_id = s.session_id)"""
_INFO = f"""
    SELECT s.session_id, s.title, s.cwd, s.model, s.created_at, coalesce({_LAST.format("timestamp")}, s.created_at)
        AS updated_at, coalesce({_LAST.format("messages")}, 0), s.parent_id
    FROM sessions s WHERE NOT s.deleted
"""


class SessionFacts(Struct, frozen=True, kw_only=True):
    """The facts of a session that the list shows. A fork inherits `cwd` and `model` as they were at the fork; its title
    is its own."""

    title: str = ""
    cwd: str = ""
    model: str = ""


# The last position at which an import says where it comes from: before its first message, after its model and window.
_IMPORT_BEGINS = 4
# Deletes the text of records, given by their ids, from the index of the search.
Unindex = Callable[[Sequence[int]], None]
# The events from which a fork inherits facts.
INHERITED = (SessionCreated, ModelChanged)


def fold_facts(facts: SessionFacts, events: Iterable[Event]) -> SessionFacts:
    """Returns a session's listed facts after these further events."""
    for event in events:
        facts = _apply(facts, event)
    return facts


def changes_facts(records: Iterable[Record]) -> bool:
    """Returns whether records may change what the list shows of a session."""
    return any(isinstance(record.event, (*INHERITED, SessionForked, SessionRenamed)) for record in records)


def _apply(facts: SessionFacts, event: Event) -> SessionFacts:
    match event:
        case SessionCreated():
            return SessionFacts(title=event.title, cwd=event.cwd, model=event.model)
        case SessionForked() | SessionRenamed():
            return msgspec.structs.replace(facts, title=event.title)
        case ModelChanged():
            return msgspec.structs.replace(facts, model=event.model)
        case _:
            return facts


class _Origin(Struct, frozen=True, kw_only=True):
    """What a new log begins with: for a fork the last record that it inherits, the facts at that point and the parent's
    id; for any other session nothing."""

    tail: Tail = Tail()
    facts: SessionFacts = SessionFacts()
    parent_id: str | None = None

    @property
    def fork_position(self) -> int | None:
        return None if self.parent_id is None else self.tail.position


def insert_session(connection: Connection, session_id: str, records: Sequence[Record]) -> None:
    """Inserts a new session with its first records. Raises `Conflict` if the id is taken, by a deleted session, too."""
    origin = _find_origin(connection, records[0])
    facts = fold_facts(origin.facts, (record.event for record in records))
    inserted = connection.execute(
        # The id may be that of a session that another user doesn't show.
        "INSERT INTO sessions (session_id, parent_id, fork_position, created_at, title, cwd, model) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (session_id, origin.parent_id, origin.fork_position, records[0].timestamp, *_columns(facts)),
    )
    if not inserted.rowcount:
        raise Conflict(f"session {session_id} exists already: choose another id")
    insert_records(connection, session_id, origin.tail, records)


def append_records(connection: Connection, session_id: str, records: Sequence[Record]) -> None:
    """Appends records and updates the session's facts. Raises `SessionNotFound` and `ConcurrentAppend`."""
    facts, tail = _find_end(connection, session_id)
    insert_records(connection, session_id, tail, records)
    folded = fold_facts(facts, (record.event for record in records))
    if folded != facts:
        connection.execute(
            "UPDATE sessions SET title = ?, cwd = ?, model = ? WHERE session_id = ?", (*_columns(folded), session_id)
        )


def _find_end(connection: Connection, session_id: str) -> tuple[SessionFacts, Tail]:
    """Returns the session's listed facts and the last record of its log. Raises `SessionNotFound`."""
    row = connection.execute(
        f"SELECT s.title, s.cwd, s.model, {_LAST.format('position')}, {_LAST.format('messages')} "
        "FROM sessions s WHERE s.session_id = ? AND NOT s.deleted",
        (session_id,),
    ).fetchone()
    if row is None:
        raise not_found(session_id)
    title, cwd, model, position, messages = row
    # A log that a crash has torn may have lost the session's own records.
    tail = find_tail(connection, session_id) if position is None else Tail(position=position, messages=messages)
    return SessionFacts(title=title, cwd=cwd, model=model), tail


def require_session(connection: Connection, session_id: str) -> None:
    """Raises `SessionNotFound` for an id that is unknown or deleted."""
    known = connection.execute("SELECT 1 FROM sessions WHERE session_id = ? AND NOT deleted", (session_id,))
    if known.fetchone() is None:
        raise not_found(session_id)


def find_message(connection: Connection, session_id: str, message_id: str) -> Record | None:
    """Returns the record that appended a message, the session's own or an inherited one; the last if there are several.
    Returns None if there is no such message. Raises `SessionNotFound`.

    Every append asks this for each message, so it is one statement for a session that is no fork.
    """
    row = connection.execute(
        "SELECT s.parent_id, r.position, r.timestamp, r.payload FROM sessions s "
        "LEFT JOIN records r INDEXED BY message_ids ON r.session_id = s.session_id AND r.message_id = ? "
        "WHERE s.session_id = ? AND NOT s.deleted ORDER BY r.position DESC LIMIT 1",
        (storable(message_id), session_id),
    ).fetchone()
    if row is None:
        raise not_found(session_id)
    parent_id, position, timestamp, payload = row
    if position is not None:
        return Record(position=position, timestamp=timestamp, event=decode_event(payload))
    return find_in_lineage(connection, session_id, message_id) if parent_id is not None else None


def not_found(session_id: str) -> SessionNotFound:
    """Returns the error for a session id that is unknown or deleted."""
    return SessionNotFound(f"no session {session_id}: list the sessions to see which there are")


def find_info(connection: Connection, session_id: str) -> SessionInfo:
    """Returns the session as it is listed. Raises `SessionNotFound`."""
    row = connection.execute(f"{_INFO} AND s.session_id = ?", (session_id,)).fetchone()
    if row is None:
        raise not_found(session_id)
    return _info(row)


def list_sessions(connection: Connection, cwd: str | None, limit: int, offset: int) -> tuple[SessionInfo, ...]:
    """Returns at most `limit` listed sessions after `offset`, last changed first, of all or the folder `cwd`."""
    where, values = ("", ()) if cwd is None else ("AND s.cwd = ?", (storable(cwd),))
    rows = connection.execute(
        f"{_INFO} {where} ORDER BY updated_at DESC, s.rowid DESC LIMIT ? OFFSET ?", (*values, limit, offset)
    )
    return tuple(_info(row) for row in rows)


def find_ids(connection: Connection, prefix: str, limit: int) -> tuple[str, ...]:
    """Returns the ids of at most `limit` listed sessions that begin with `prefix`, in alphabetical order."""
    rows = connection.execute(
        "SELECT session_id FROM sessions WHERE NOT deleted AND substr(session_id, 1, ?) = ? "
        "ORDER BY session_id LIMIT ?",
        (len(prefix), storable(prefix), limit),
    )
    return tuple(session_id for (session_id,) in rows)


def sessions_with(connection: Connection, message_id: str) -> tuple[str, ...]:
    """Returns the listed sessions whose own records append a message with this id, last created first."""
    rows = connection.execute(
        "SELECT session_id FROM sessions s WHERE NOT deleted AND EXISTS (SELECT 1 FROM records INDEXED BY message_ids "
        "WHERE session_id = s.session_id AND message_id = ?) ORDER BY created_at DESC, rowid DESC",
        (storable(message_id),),
    )
    return tuple(session_id for (session_id,) in rows)


def attached_sessions(connection: Connection) -> tuple[AttachedSession, ...]:
    """Returns the listed sessions of agents behind the proxy that an agent has known by another id than their own, last
    created first. The second own record of such a session attaches the agent."""
    rows = connection.execute(
        "SELECT s.session_id, s.title, r.payload FROM sessions s "
        "JOIN records first INDEXED BY attachments ON first.session_id = s.session_id "
        "AND first.event = 'agent_attached' AND first.position = COALESCE(s.fork_position, -1) + 2 "
        "JOIN records r INDEXED BY attachments ON r.session_id = s.session_id AND r.event = 'agent_attached' "
        "WHERE NOT s.deleted ORDER BY s.created_at DESC, s.rowid DESC, r.position"
    )
    titles: dict[str, str] = {}
    # A dict as an ordered set. An id that comes again moves to the end.
    ids: dict[str, dict[str, None]] = {}
    for session_id, title, payload in rows:
        event = decode_event(payload)
        if isinstance(event, AgentAttached):
            titles[session_id] = title
            known = ids.setdefault(session_id, {})
            known.pop(event.session_id, None)
            known[event.session_id] = None
    return tuple(
        AttachedSession(session_id=session_id, title=titles[session_id], agent_ids=tuple(known))
        for session_id, known in ids.items()
        if known.keys() != {session_id}
    )


def imported_sessions(connection: Connection) -> tuple[ImportedSession, ...]:
    """Returns the listed sessions whose log begins with an import, last created first."""
    rows = connection.execute(
        "SELECT s.session_id, r.payload FROM sessions s JOIN records r ON r.session_id = s.session_id "
        "AND r.position BETWEEN 1 AND ? AND r.event = ? WHERE NOT s.deleted "
        "ORDER BY s.created_at DESC, s.rowid DESC, r.position",
        (_IMPORT_BEGINS, event_name(ConversationImported)),
    )
    found: dict[str, ImportedSession] = {}
    for session_id, payload in rows:
        event = decode_event(payload)
        if isinstance(event, ConversationImported):
            origin = ImportedSession(
                session_id=session_id,
                format=event.format,
                origin_id=event.origin_id,
                agent=event.agent,
                parent_id=event.parent_id,
                is_sub_agent=event.is_sub_agent,
                path=event.path,
            )
            found.setdefault(session_id, origin)
    return tuple(found.values())


def delete_session(connection: Connection, session_id: str, unindex: Unindex) -> None:
    """Removes the session from the list, and deletes all records that no fork needs: its own and records of deleted
    ancestors. `unindex` deletes the text of records from the index of the search. Raises `SessionNotFound`."""
    require_session(connection, session_id)
    connection.execute("UPDATE sessions SET deleted = TRUE WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM snapshots WHERE session_id = ?", (session_id,))
    current: str | None = session_id
    while current is not None:
        deleted, parent_id, needed = connection.execute(
            "SELECT deleted, parent_id, (SELECT max(fork_position) FROM sessions WHERE parent_id = s.session_id) "
            "FROM sessions s WHERE session_id = ?",
            (current,),
        ).fetchone()
        if not deleted:
            return
        drop_records(connection, current, -1 if needed is None else needed, unindex)
        if needed is not None:
            return
        connection.execute("DELETE FROM sessions WHERE session_id = ?", (current,))
        current = parent_id


def drop_records(connection: Connection, session_id: str, needed: int, unindex: Unindex) -> None:
    """Deletes the session's records after position `needed`, and their text in the index."""
    span = (session_id, needed)
    rows = connection.execute("SELECT record_id FROM records WHERE session_id = ? AND position > ?", span)
    unindex([record_id for (record_id,) in rows.fetchall()])
    connection.execute("DELETE FROM records WHERE session_id = ? AND position > ?", span)


def _find_origin(connection: Connection, first: Record) -> _Origin:
    if not isinstance(first.event, SessionForked):
        return _Origin()
    fork = first.event
    require_session(connection, fork.parent_id)
    tail = find_tail(connection, fork.parent_id, fork.position + 1)
    if not 0 <= fork.position == tail.position:
        raise InvalidRequest(f"session {fork.parent_id} has no position {fork.position} to fork at")
    return _Origin(tail=tail, facts=_facts_at(connection, fork), parent_id=fork.parent_id)


def _facts_at(connection: Connection, fork: SessionForked) -> SessionFacts:
    facts = SessionFacts()
    for span in reversed(list(lineage(connection, fork.parent_id, fork.position + 1))):
        rows = connection.execute(
            "SELECT payload FROM records WHERE session_id = ? AND position < ? AND event IN (?, ?) ORDER BY position",
            (span.session_id, span.stop, *(event_name(event) for event in INHERITED)),
        )
        facts = fold_facts(facts, (decode_event(payload) for (payload,) in rows))
    return facts


def _columns(facts: SessionFacts) -> tuple[str, str, str]:
    return storable(facts.title), storable(facts.cwd), storable(facts.model)


def _info(row: tuple[str, str, str, str, int, int, int, str | None]) -> SessionInfo:
    session_id, title, cwd, model, created_at, updated_at, messages, parent_id = row
    return SessionInfo(
        session_id=session_id,
        title=title,
        cwd=cwd,
        model=model,
        created_at=created_at,
        updated_at=updated_at,
        messages=messages,
        parent_id=parent_id,
    )
