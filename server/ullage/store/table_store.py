"""The session store on two tables, of sessions and of records, whatever the database, and the rows of a session as they
are copied from one store to another."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from msgspec import Struct

from ullage.model.errors import ConcurrentAppend, InvalidRequest
from ullage.model.events import Record, SessionConfigured, SessionForked
from ullage.service.ports.store import ChunkId, Passage, SearchHit, SessionInfo, StoredSession
from ullage.store.search.query import read_query
from ullage.store.search.searcher import Searcher
from ullage.store.search.word_index import WordIndex, drop_rows
from ullage.store.tables import session_table
from ullage.store.tables.session_table import (
    NO_END,
    Connection,
    decode_event,
    find_tail,
    read_records,
    storable,
    unpacked,
)

# A record's position, timestamp, event's name, number of messages, message's id and payload. The payload is not packed.
RecordRow = tuple[int, int, str, int, str | None, bytes]


class SessionRow(Struct, frozen=True, kw_only=True):
    """A session as its table has it. A deleted one is still there if a fork needs its records."""

    session_id: str
    parent_id: str | None
    fork_position: int | None
    deleted: bool
    created_at: int
    title: str
    cwd: str
    model: str


_COLUMNS = ", ".join(SessionRow.__struct_fields__)


def all_sessions(connection: Connection) -> tuple[SessionRow, ...]:
    """Returns all sessions in the order of their creation, so that a fork comes after its parent."""
    return tuple(map(_session, connection.execute(f"SELECT {_COLUMNS} FROM sessions ORDER BY rowid")))


def find_row(connection: Connection, session_id: str) -> SessionRow | None:
    """Returns a session's row, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return None if row is None else _session(row)


def own_records(connection: Connection, session_id: str, after: int, limit: int) -> tuple[RecordRow, ...]:
    """Returns at most `limit` of the session's own records after a position, in their order."""
    rows = connection.execute(
        "SELECT position, timestamp, event, messages, message_id, payload FROM records "
        "WHERE session_id = ? AND position > ? ORDER BY position LIMIT ?",
        (session_id, after, limit),
    )
    return tuple(
        (position, at, event, count, name, unpacked(bytes(load))) for position, at, event, count, name, load in rows
    )


def own_end(connection: Connection, session_id: str) -> int:
    """Returns the position of the last of the session's own records, -1 if it has none."""
    return connection.execute(
        "SELECT coalesce(max(position), -1) FROM records WHERE session_id = ?", (session_id,)
    ).fetchone()[0]


def find_snapshot(connection: Connection, session_id: str) -> tuple[int, bytes] | None:
    """Returns the position and the bytes of a session's snapshot, or None."""
    row = connection.execute("SELECT position, snapshot FROM snapshots WHERE session_id = ?", (session_id,)).fetchone()
    return None if row is None else (row[0], unpacked(bytes(row[1])))


def put_session(connection: Connection, row: SessionRow) -> None:
    """Inserts a session, or gives it the title, the folder and the model of `row`."""
    connection.execute(
        f"INSERT INTO sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) "
        "DO UPDATE SET title = excluded.title, cwd = excluded.cwd, model = excluded.model",
        (
            *(row.session_id, row.parent_id, row.fork_position, row.deleted, row.created_at),
            *map(storable, (row.title, row.cwd, row.model)),
        ),
    )


def put_records(connection: Connection, session_id: str, after: int, rows: Sequence[RecordRow]) -> None:
    """Writes records to the end of a session. Raises `ConcurrentAppend` if the end is not at the position `after`, -1
    for a session without records of its own."""
    if own_end(connection, session_id) != after:
        raise ConcurrentAppend(f"session {session_id} was continued while it was copied: copy again")
    connection.executemany(
        "INSERT INTO records (session_id, position, timestamp, event, messages, message_id, payload) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((session_id, *row, connection.kept(payload)) for *row, payload in rows),
    )


def all_calibrations(connection: Connection) -> tuple[tuple[str, bytes], ...]:
    """Returns the models that are calibrated, with their calibrations."""
    rows = connection.execute("SELECT model, calibration FROM calibrations ORDER BY model")
    return tuple((model, bytes(calibration)) for model, calibration in rows)


def _session(row: Sequence[Any]) -> SessionRow:
    named: dict[str, Any] = dict(zip(SessionRow.__struct_fields__, row, strict=True))
    named["deleted"] = bool(named["deleted"])
    return SessionRow(**named)


P = ParamSpec("P")
T = TypeVar("T")


def _reads(read: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate["TableStore", P], T]:
    """Returns a method that reads by this function in a transaction."""

    @wraps(read)
    def method(self: "TableStore", *args: P.args, **named: P.kwargs) -> T:
        with self.reading() as connection:
            return read(connection, *args, **named)

    return method


class TableStore(ABC):
    """A `SessionStore` on a database with the tables `sessions`, `records`, `snapshots` and `calibrations`. A
    database's own class gives the transactions and the searcher."""

    _searcher: Searcher

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Returns a transaction in which all reads see one state."""

    @abstractmethod
    def _writing(self, session_id: str, /) -> AbstractContextManager[Connection]:
        """Returns a transaction that writes to one session. What it reads of the session stays true until it ends."""

    @abstractmethod
    def _writing_alone(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction that may change which sessions depend on which. No other one writes meanwhile."""

    @abstractmethod
    def _reading_apart(self) -> AbstractContextManager[Connection]:
        """Returns a transaction for reads on a connection of its own, for any thread."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store, which cannot be used afterwards."""

    @abstractmethod
    def version(self) -> int:
        """Returns a number that changes when another process writes to the store; see `SessionStore.version`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        return self._searcher.find_passages(query, session_id, limit)

    def index_some(self, session_id: str | None = None) -> int:
        return self._searcher.index_some(session_id)

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        return self._searcher.load_vectors(model, chunks)

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        self._searcher.save_vectors(model, vectors)

    def own_settings(self) -> tuple[Mapping[str, Any], ...]:
        with self.reading() as connection:
            rows = connection.execute("SELECT payload FROM records WHERE event = 'session_configured'").fetchall()
        events = (decode_event(payload) for (payload,) in rows)
        return tuple(event.context for event in events if isinstance(event, SessionConfigured))

    def search(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[SearchHit, ...]:
        read_query(query)
        while self.index_some(session_id):
            pass
        return tuple(passage.hit for passage in self.find_passages(query, session_id, limit))

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        if not records:
            raise InvalidRequest(f"session {session_id} cannot start without a record")
        depends = isinstance(records[0].event, SessionForked)
        with self._writing_alone() if depends else self._writing(session_id) as connection:
            session_table.insert_session(connection, session_id, records)

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        with self._writing(session_id) as connection:
            session_table.append_records(connection, session_id, records)

    def open(self, session_id: str) -> StoredSession:
        with self.reading() as connection:
            session_table.require_session(connection, session_id)
            saved = connection.execute(
                "SELECT position, snapshot FROM snapshots WHERE session_id = ?", (session_id,)
            ).fetchone()
            position, snapshot = (-1, None) if saved is None else (saved[0], unpacked(saved[1]))
            records = read_records(connection, session_id, position + 1, NO_END)
        return StoredSession(records=records, snapshot=snapshot, snapshot_position=position)

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        with self.reading() as connection:
            session_table.require_session(connection, session_id)
            return read_records(connection, session_id, start, NO_END if stop is None else stop)

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        with self._reading_apart() as connection:
            session_table.require_session(connection, session_id)
            return read_records(connection, session_id, 0, NO_END)

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        with self._writing(session_id) as connection:
            session_table.require_session(connection, session_id)
            if not 0 <= position <= find_tail(connection, session_id).position:
                raise InvalidRequest(f"session {session_id} has no position {position} to keep a snapshot of")
            connection.execute(
                "INSERT INTO snapshots (session_id, position, snapshot) VALUES (?, ?, ?) "
                "ON CONFLICT (session_id) DO UPDATE SET position = excluded.position, snapshot = excluded.snapshot "
                "WHERE excluded.position >= snapshots.position",
                (session_id, position, connection.kept(snapshot)),
            )

    def drop_snapshot(self, session_id: str) -> None:
        with self._writing(session_id) as connection:
            session_table.require_session(connection, session_id)
            connection.execute("DELETE FROM snapshots WHERE session_id = ?", (session_id,))

    def list(self, cwd: str | None = None, limit: int = 100, offset: int = 0) -> tuple[SessionInfo, ...]:
        with self.reading() as connection:
            return session_table.list_sessions(connection, cwd, limit, offset)

    def find_ids(self, prefix: str, limit: int = 100) -> tuple[str, ...]:
        with self.reading() as connection:
            return session_table.find_ids(connection, prefix, limit)

    def delete(self, session_id: str) -> None:
        with self._writing_alone() as connection:
            session_table.delete_session(connection, session_id, partial(drop_rows, connection))

    @abstractmethod
    def erase_deleted(self, *, rewrite: bool = False) -> None:
        """Overwrites what deleted sessions have left in files; see `SessionStore.erase_deleted`."""

    def load_calibration(self, model: str) -> bytes | None:
        with self.reading() as connection:
            row = connection.execute("SELECT calibration FROM calibrations WHERE model = ?", (model,)).fetchone()
        return None if row is None else row[0]

    def save_calibration(self, model: str, calibration: bytes) -> None:
        with self._writing(model) as connection:
            kept = connection.execute("UPDATE calibrations SET calibration = ? WHERE model = ?", (calibration, model))
            if not kept.rowcount:
                connection.execute("INSERT INTO calibrations (model, calibration) VALUES (?, ?)", (model, calibration))

    def receive(self, row: SessionRow, after: int, records: Sequence[RecordRow]) -> None:
        """Writes a session from another store, or those of its records that come after the position `after`. Raises
        `ConcurrentAppend` if the session's own records end elsewhere."""
        with self._writing_alone() if after < 0 else self._writing(row.session_id) as connection:
            put_session(connection, row)
            put_records(connection, row.session_id, after, records)

    # What is read by one statement; see `SessionStore`, and for copies `store_copy.py`.
    find_message = _reads(session_table.find_message)
    find_index = _reads(session_table.find_index)
    read_messages = _reads(session_table.read_messages)
    read_edits = _reads(session_table.read_edits)
    read_imports = _reads(session_table.read_imports)
    info = _reads(session_table.find_info)
    sessions_with = _reads(session_table.sessions_with)
    imported = _reads(session_table.imported_sessions)
    attached = _reads(session_table.attached_sessions)
    copied_sessions = _reads(all_sessions)
    copied_session = _reads(find_row)
    copied_records = _reads(own_records)
    saved_snapshot = _reads(find_snapshot)
    calibrations = _reads(all_calibrations)
