"""The rows of a session as they are copied from one store to another, whatever the databases."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.errors import ConcurrentAppend
from ullage.store.tables.session_table import Connection, storable, unpacked

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


_COLUMNS = "session_id, parent_id, fork_position, deleted, created_at, title, cwd, model"


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


def _session(row: tuple[str, str | None, int | None, bool, int, str, str, str]) -> SessionRow:
    session_id, parent_id, fork_position, deleted, created_at, title, cwd, model = row
    return SessionRow(
        session_id=session_id,
        parent_id=parent_id,
        fork_position=fork_position,
        deleted=bool(deleted),
        created_at=created_at,
        title=title,
        cwd=cwd,
        model=model,
    )
