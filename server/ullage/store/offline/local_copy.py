"""The copy that a machine keeps of sessions on a server, in a SQLite file, with what the server doesn't have yet; and
what sends that to the server: each record once, whatever happened to the sessions meanwhile."""

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import ConcurrentAppend, StoreUnavailable
from ullage.model.events import Record, SessionForked, SessionRenamed
from ullage.service.ports.store import StoredSession
from ullage.store.search.word_index import WordIndex, drop_rows
from ullage.store.sqlite.database import connect, reporting
from ullage.store.sqlite.sqlite_store import SqliteStore
from ullage.store.store_copy import same_records, write_checked
from ullage.store.table_store import RecordRow, SessionRow, TableStore, find_row, own_end, own_records
from ullage.store.tables import session_table
from ullage.store.tables.session_table import (
    NO_END,
    Connection,
    decode_event,
    encode_event,
    event_name,
    find_tail,
    lineage,
)

# `unsent.after` is the last position of the session that the server is known to have. A session is in `unsent` before
# the first record that the server lacks, in the same transaction, so that no such record is ever taken for a sent one.
# `used` numbers the sessions in the order of their last use here. Of those in `cut`, for whose messages there was no
# room, only what comes before the first message is here, which says where an import comes from.
# `moved` has the sessions whose continuation on this machine is now in another session.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS unsent "
    "(session_id TEXT PRIMARY KEY, after INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS moved "
    "(number INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, fork_id TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS used (session_id TEXT PRIMARY KEY, number INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS cut (session_id TEXT PRIMARY KEY)",
)
# Sessions whose messages may go, the one that was not used for longest first: whole, without something to send, and
# with no fork that begins with their messages.
_REMOVABLE = """
    SELECT s.session_id FROM sessions s LEFT JOIN used u USING (session_id) LEFT JOIN cut c USING (session_id)
    WHERE c.session_id IS NULL
        AND NOT EXISTS (SELECT 1 FROM unsent n WHERE n.session_id = s.session_id)
        AND NOT EXISTS (SELECT 1 FROM sessions f LEFT JOIN cut d USING (session_id)
            WHERE f.parent_id = s.session_id AND d.session_id IS NULL)
    ORDER BY coalesce(u.number, 0), s.rowid LIMIT 2
"""


class Unsent(Struct, frozen=True, kw_only=True):
    """A session with something that the server doesn't have: records after `after`, or its deletion. `row` is None if
    nothing is left of it."""

    session_id: str
    after: int
    deleted: bool
    row: SessionRow | None


class Settled(Struct, frozen=True, kw_only=True):
    """A session that the server has now as far as `sent`, for the copy to take note of.

    `moved_to` is the session that has this machine's continuation, if another machine has continued the session, too.
    The copy then keeps the records up to `cut`, or nothing if that is None.
    """

    sent: Unsent
    moved_to: str = ""
    cut: int | None = None


def open_copy(path: Path) -> "LocalCopy":
    """Opens the copy in a file, which is made if it is missing. Raises `StoreUnavailable` and `StoreTooNew`."""
    with reporting(path):
        return LocalCopy(path)


class LocalCopy(SqliteStore):
    """Sessions as far as they were copied. Its threads and processes may be as many as those of `SqliteStore`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, connect(path))
        with self._writing("") as connection:
            for table in _TABLES:
                connection.execute(table)

    def open(self, session_id: str) -> StoredSession:
        """Returns a session; see `SessionStore.open`. Raises `StoreUnavailable` if it isn't whole here."""
        self._require_whole(session_id)
        return super().open(session_id)

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        """Returns records of a session; see `SessionStore.read`. Raises `StoreUnavailable` as `open` does."""
        self._require_whole(session_id)
        return super().read(session_id, start, stop)

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        """Returns all records of a session; see `SessionStore.read_apart`. Raises `StoreUnavailable` as `open` does."""
        self._require_whole(session_id)
        return super().read_apart(session_id)

    def create_unsent(self, session_id: str, records: Sequence[Record]) -> None:
        """Creates a session that the server doesn't have. Raises what `SessionStore.create` does."""
        with self._writing(session_id) as connection:
            _mark(connection, session_id, records[0].position - 1)
            session_table.insert_session(connection, session_id, records)

    def append_unsent(self, session_id: str, records: Sequence[Record]) -> None:
        """Appends records that the server may not have. Raises what `SessionStore.append` does, and `StoreUnavailable`
        if the copy lacks records before them."""
        with self._writing(session_id) as connection:
            session_table.require_session(connection, session_id)
            is_behind = records and find_tail(connection, session_id).position < records[0].position - 1
            if is_behind or _is_cut(connection, session_id):
                raise _not_whole(session_id)
            if records:
                _mark(connection, session_id, records[0].position - 1)
            session_table.append_records(connection, session_id, records)

    def delete_unsent(self, session_id: str) -> None:
        """Deletes a session here, and from the server when it is reached. Raises `SessionNotFound`."""
        with self._writing_alone() as connection:
            session_table.require_session(connection, session_id)
            _mark(connection, session_id, find_tail(connection, session_id).position)
            connection.execute("UPDATE unsent SET deleted = 1 WHERE session_id = ?", (session_id,))
            session_table.delete_session(connection, session_id, partial(drop_rows, connection))

    def keep(self, session_id: str, records: Sequence[Record], *, is_new: bool = False) -> None:
        """Keeps records that the server has, unless the session has unsent ones. Raises as `SessionStore`."""
        with self._writing(session_id) as connection:
            if _is_unsent(connection, session_id):
                return
            if is_new:
                session_table.insert_session(connection, session_id, records)
            else:
                session_table.append_records(connection, session_id, records)

    def forget(self, session_id: str) -> None:
        """Deletes the copy of a session that the server lacks, unless it has unsent records."""
        with self._writing_alone() as connection:
            row = find_row(connection, session_id)
            if row is not None and not row.deleted and not _is_unsent(connection, session_id):
                session_table.delete_session(connection, session_id, partial(drop_rows, connection))

    def cut(self, session_id: str, last: int) -> None:
        """Deletes the session's own records after the position `last`. Does nothing if it has unsent records."""
        with self._writing_alone() as connection:
            if not _is_unsent(connection, session_id):
                _cut(connection, session_id, last)

    def use(self, session_id: str) -> None:
        """Takes note that a session is used here now."""
        with self._writing(session_id) as connection:
            connection.execute(
                "INSERT INTO used (session_id, number) SELECT ?, coalesce(max(number), 0) + 1 FROM used WHERE TRUE "
                "ON CONFLICT (session_id) DO UPDATE SET number = excluded.number",
                (session_id,),
            )

    def size(self) -> int:
        """Returns how many bytes of the file are in use."""
        with self.reading() as connection:
            pages, free, page = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * page

    def make_room(self, most: int) -> int:
        """Deletes messages of the sessions that were not used for longest, until at most so many bytes are in use or
        nothing more may go: what the server lacks stays, and so does the session that was used last. Returns the number
        of sessions."""
        gone = 0
        while self.size() > most:
            with self._writing_alone() as connection:
                last = connection.execute("SELECT session_id FROM used ORDER BY number DESC LIMIT 1").fetchone()
                row = next((row for row in connection.execute(_REMOVABLE).fetchall() if row != last), None)
                if row is None:
                    break
                _cut_to_beginning(connection, row[0])
            gone += 1
        return gone

    def is_cut(self, session_id: str) -> bool:
        """Returns whether only the beginning of a session is here, for lack of room."""
        with self.reading() as connection:
            return _is_cut(connection, session_id)

    def set_cut(self, session_id: str, *, is_cut: bool) -> None:
        """Takes note whether only the beginning of a session is here."""
        if self.is_cut(session_id) != is_cut:
            change = "INSERT INTO cut VALUES (?)" if is_cut else "DELETE FROM cut WHERE session_id = ?"
            with self._writing_alone() as connection:
                connection.execute(change, (session_id,))

    def _require_whole(self, session_id: str) -> None:
        if self.is_cut(session_id):
            raise _not_whole(session_id)

    def last_own(self, session_id: str) -> RecordRow | None:
        """Returns the last of the session's own records, or None if it has none."""
        with self.reading() as connection:
            found = own_end(connection, session_id)
            return next(iter(own_records(connection, session_id, found - 1, 1)), None)

    def is_unsent(self, session_id: str) -> bool:
        """Returns whether the server may lack something of a session."""
        with self.reading() as connection:
            return _is_unsent(connection, session_id)

    def unsent(self) -> tuple[Unsent, ...]:
        """Returns the sessions that the server may not have whole, a fork after its parent."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT u.session_id, u.after, u.deleted FROM unsent u LEFT JOIN sessions s USING (session_id) "
                "ORDER BY s.rowid, u.session_id"
            ).fetchall()
            return tuple(_unsent(connection, *row) for row in rows)

    def whole_log(self, session_id: str) -> tuple[RecordRow, ...]:
        """Returns all records of a session, inherited ones included, for a copy."""
        with self.reading() as connection:
            spans = tuple(lineage(connection, session_id))
            return tuple(
                row
                for span in reversed(spans)
                for row in own_records(connection, span.session_id, span.start - 1, NO_END)
                if row[0] < span.stop
            )

    def settle(self, done: Sequence[Settled]) -> bool:
        """Notes all that the server has now, in one transaction. Returns False if a session changed meanwhile."""
        with self._writing_alone() as connection:
            for one in done:
                sent = one.sent
                now = connection.execute(
                    "SELECT session_id, after, deleted FROM unsent WHERE session_id = ?", (sent.session_id,)
                ).fetchone()
                if now is None or _unsent(connection, *now) != sent:
                    return False
            # Forks before their parents, so that nothing needs what is deleted.
            for one in reversed(done):
                _settle(connection, one)
        return True

    def moved(self, after: int = 0) -> tuple[tuple[int, str, str], ...]:
        """Returns the sessions continued in another one after a number: their numbers, and both sessions."""
        with self.reading() as connection:
            found = connection.execute(
                "SELECT number, session_id, fork_id FROM moved WHERE number > ? ORDER BY number", (after,)
            )
            return tuple((number, session_id, fork_id) for number, session_id, fork_id in found)


def _mark(connection: Connection, session_id: str, after: int) -> None:
    connection.execute(
        "INSERT INTO unsent (session_id, after) VALUES (?, ?) ON CONFLICT (session_id) DO NOTHING", (session_id, after)
    )


def _is_cut(connection: Connection, session_id: str) -> bool:
    return connection.execute("SELECT 1 FROM cut WHERE session_id = ?", (session_id,)).fetchone() is not None


def _cut_to_beginning(connection: WordIndex, session_id: str) -> None:
    query = "SELECT min(position) FROM records WHERE session_id = ? AND (? OR message_id IS NOT NULL)"
    (first,), (message,) = (connection.execute(query, (session_id, is_any)).fetchone() for is_any in (True, False))
    if message is not None:
        _cut(connection, session_id, max(first, message - 1))
    connection.execute("INSERT INTO cut VALUES (?)", (session_id,))


def _not_whole(session_id: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"session {session_id} is not whole on this machine, and its server can't be reached: go on when the server is "
        "back, or begin another session"
    )


def _is_unsent(connection: Connection, session_id: str) -> bool:
    return connection.execute("SELECT 1 FROM unsent WHERE session_id = ?", (session_id,)).fetchone() is not None


def _unsent(connection: Connection, session_id: str, after: int, deleted: int) -> Unsent:
    row = find_row(connection, session_id)
    return Unsent(session_id=session_id, after=after, deleted=bool(deleted), row=row)


def _settle(connection: WordIndex, one: Settled) -> None:
    session_id = one.sent.session_id
    connection.execute("DELETE FROM unsent WHERE session_id = ?", (session_id,))
    if not one.moved_to:
        return
    connection.execute("INSERT INTO moved (session_id, fork_id) VALUES (?, ?)", (session_id, one.moved_to))
    if one.cut is None:
        session_table.delete_session(connection, session_id, partial(drop_rows, connection))
    else:
        _cut(connection, session_id, one.cut)


def _cut(connection: WordIndex, session_id: str, last: int) -> None:
    session_table.drop_records(connection, session_id, last, partial(drop_rows, connection))
    connection.execute("DELETE FROM snapshots WHERE session_id = ? AND position > ?", (session_id, last))


# Other machines and processes may write to the same sessions. Each try reads what they have written.
_TRIES = 8
# Records of one transaction.
_BATCH = 200


class CaughtUp(Struct, frozen=True, kw_only=True):
    """What was sent: the number of records, and of sessions with one. `continued` are sessions that were deleted on
    this machine and continued on another one, and so are still there."""

    records: int = 0
    sessions: int = 0
    continued: tuple[str, ...] = ()

    def __add__(self, other: "CaughtUp") -> "CaughtUp":
        return CaughtUp(
            records=self.records + other.records,
            sessions=self.sessions + other.sessions,
            continued=self.continued + other.continued,
        )


def catch_up(local: LocalCopy, remote: TableStore) -> CaughtUp:
    """Sends what the server lacks, reads it back and compares it. May be interrupted anywhere and made again: what was
    sent is recognized, and a session gets the same id each time.

    Records that another machine has written meanwhile stay first. If both have continued a session, what this machine
    has written becomes a fork at the place where they part. If the session was deleted on the server, it becomes a
    session of its own. `LocalCopy.moved` says which. Raises `StoreUnavailable`.
    """
    sent = CaughtUp()
    for _ in range(_TRIES):
        sending = _Sending(local, remote)
        try:
            for one in local.unsent():
                sending.send(one)
        except ConcurrentAppend:
            sent += sending.sent()
            continue
        sent += sending.sent()
        if local.settle(sending.done):
            return sent
    raise StoreUnavailable("what was done without the server was not sent: other processes keep writing; try again")


class _Moved(Struct, frozen=True, kw_only=True):
    """Where the records of a session from the position `start` on are at the server: `shift` positions later in
    `session_id`."""

    session_id: str
    start: int
    shift: int


class _Sending:
    """One pass over all that the server lacks."""

    def __init__(self, local: LocalCopy, remote: TableStore) -> None:
        self._local, self._remote = local, remote
        self.done: list[Settled] = []
        self._moved: dict[str, _Moved] = {}
        self._records = 0
        self._sessions = set[str]()
        self._continued: list[str] = []

    def sent(self) -> CaughtUp:
        return CaughtUp(records=self._records, sessions=len(self._sessions), continued=tuple(self._continued))

    def send(self, one: Unsent) -> None:
        there = self._remote.copied_session(one.session_id)
        if one.deleted:
            if there is not None and not there.deleted:
                if self._remote.copied_records(one.session_id, one.after, 1):
                    self._continued.append(one.session_id)
                else:
                    self._remote.delete(one.session_id)
            self.done.append(Settled(sent=one))
        elif one.row is None:
            self.done.append(Settled(sent=one))
        elif (parent := self._moved_parent(one.row, there)) is not None:
            position = (one.row.fork_position or 0) + parent.shift
            own = self._local.copied_records(one.session_id, -1, NO_END)
            moved = replace(one.row, parent_id=parent.session_id, fork_position=position)
            self._send_whole(moved, tuple(_shifted(record, parent) for record in own))
            self._moved[one.session_id] = replace(parent, session_id=one.session_id)
            self.done.append(Settled(sent=one, moved_to=one.session_id))
        elif there is not None and not there.deleted:
            self._continue(one, one.row)
        elif there is None and one.after == (-1 if one.row.fork_position is None else one.row.fork_position):
            self._create(one, one.row)
        else:
            self._rescue(one, one.row)

    def _create(self, one: Unsent, row: SessionRow) -> None:
        """Sends a session that was made without the server."""
        if row.parent_id is None or self._has(row.parent_id, row.fork_position):
            self._send_whole(row, self._local.copied_records(one.session_id, -1, NO_END))
            self.done.append(Settled(sent=one))
        else:
            self._rescue(one, row)

    def _moved_parent(self, row: SessionRow, there: SessionRow | None) -> _Moved | None:
        """Returns where a fork's beginning is now, if in another session; None if the server has it in its place."""
        parent = self._moved.get(row.parent_id or "")
        if parent is None or (row.fork_position or 0) < parent.start:
            return None
        return parent if there is None or there.parent_id == parent.session_id else None

    def _continue(self, one: Unsent, row: SessionRow) -> None:
        """Sends the continuation of a session that the server has."""
        after = self._common(one)
        own = self._local.copied_records(one.session_id, after, NO_END)
        there = self._remote.copied_records(one.session_id, after, NO_END)
        shared = _shared(own, there)
        if shared == len(there):
            end = there[-1][0] if there else self._own_end(one.session_id, after)
            self._write(row, end, own[shared:])
            saved = self._local.saved_snapshot(one.session_id)
            if saved is not None and own and one.after < saved[0] <= own[-1][0]:
                self._remote.save_snapshot(one.session_id, *saved)
            self.done.append(Settled(sent=one))
        elif shared == len(own):
            self.done.append(Settled(sent=one))
        elif own[shared][0] == 0:
            # Two sessions with one id.
            self._rescue(one, row)
        else:
            self._fork(one, row, own[shared:])

    def _common(self, one: Unsent) -> int:
        """Returns a position up to which the session is the same in both stores, -1 if its own records have to be
        compared from the first one on, as for a server that was restored from a backup."""
        if one.after < 0:
            return -1
        ours = self._local.copied_records(one.session_id, one.after - 1, 1)
        theirs = self._remote.copied_records(one.session_id, one.after - 1, 1)
        return one.after if ours and theirs and same_records(ours, theirs) else -1

    def _own_end(self, session_id: str, after: int) -> int:
        """Returns `after` if the server has a record of the session's own there, otherwise -1."""
        return after if after >= 0 and self._remote.copied_records(session_id, after - 1, 1) else -1

    def _fork(self, one: Unsent, row: SessionRow, rest: Sequence[RecordRow]) -> None:
        """Makes a fork of what this machine has written after the last position that both have."""
        position, timestamp, _, messages, message_id, _ = rest[0]
        fork_id, at, title = _new_id(one.session_id, rest[0]), position - 1, f"{row.title} (offline)".strip()
        event = SessionForked(parent_id=one.session_id, position=at, title=title)
        first = (position, timestamp, event_name(event), messages - (message_id is not None), None, encode_event(event))
        # After an interruption the title may be another one.
        known = self._remote.copied_records(fork_id, -1, 1)
        is_renamed = any(record[2] == event_name(SessionRenamed) for record in rest)
        fork = SessionRow(
            session_id=fork_id,
            parent_id=one.session_id,
            fork_position=at,
            deleted=False,
            created_at=timestamp,
            title=row.title if is_renamed else title,
            cwd=row.cwd,
            model=row.model,
        )
        moved = _Moved(session_id=fork_id, start=position, shift=1)
        self._send_whole(fork, (*(known or (first,)), *(_shifted(record, moved) for record in rest)))
        self._moved[one.session_id] = moved
        self.done.append(Settled(sent=one, moved_to=fork_id, cut=at))

    def _rescue(self, one: Unsent, row: SessionRow) -> None:
        """Makes a session of its own of one that the server has deleted, or whose parent it has deleted."""
        log = self._local.whole_log(one.session_id)
        new = next(record for record in log if record[0] > one.after)
        own = replace(row, session_id=_new_id(one.session_id, new), parent_id=None, fork_position=None, deleted=False)
        self._send_whole(own, log)
        self._moved[one.session_id] = _Moved(session_id=own.session_id, start=0, shift=0)
        self.done.append(Settled(sent=one, moved_to=own.session_id))

    def _send_whole(self, row: SessionRow, records: Sequence[RecordRow]) -> None:
        """Sends a session that only this machine makes, or what is missing of it after an interruption."""
        there = self._remote.copied_session(row.session_id)
        if there is not None and there.deleted:
            # Sent before, and deleted by another machine since.
            return
        if there is None:
            self._remote.receive(row, -1, ())
            self._sessions.add(row.session_id)
        known = self._remote.copied_records(row.session_id, -1, NO_END)
        shared = _shared(records, known)
        if shared == len(known):
            self._write(row, known[-1][0] if known else -1, records[shared:])
        elif shared < len(records):
            raise StoreUnavailable(f"session {row.session_id} is another one at the server: report this as a fault")

    def _write(self, row: SessionRow, after: int, records: Sequence[RecordRow]) -> None:
        for start in range(0, len(records), _BATCH):
            batch = records[start : start + _BATCH]
            write_checked(self._remote, row, after, batch)
            after = batch[-1][0]
            self._records += len(batch)
            self._sessions.add(row.session_id)

    def _has(self, session_id: str, position: int | None) -> bool:
        """Returns whether the server has a position of a session, one of its own or an inherited one."""
        current: str | None = session_id
        while current is not None and position is not None:
            row = self._remote.copied_session(current)
            if row is None or (row.deleted and current == session_id):
                return False
            if row.fork_position is None or position > row.fork_position:
                found = self._remote.copied_records(current, position - 1, 1)
                return bool(found) and found[0][0] == position
            current = row.parent_id
        return False


def _shared(records: Sequence[RecordRow], others: Sequence[RecordRow]) -> int:
    """Returns how many records at the beginning are the same."""
    for at, (one, other) in enumerate(zip(records, others, strict=False)):
        if not same_records((one,), (other,)):
            return at
    return min(len(records), len(others))


def _shifted(record: RecordRow, by: _Moved) -> RecordRow:
    """Returns a record at the position that it has at the server. A fork's first event refers to its parent there."""
    position, timestamp, event, messages, message_id, payload = record
    if event == event_name(SessionForked) and isinstance(forked := decode_event(payload), SessionForked):
        payload = encode_event(replace(forked, parent_id=by.session_id, position=forked.position + by.shift))
    return position + by.shift, timestamp, event, messages, message_id, payload


def _new_id(session_id: str, first: RecordRow) -> str:
    """Returns an id for the continuation that begins with this record, the same each time."""
    position, timestamp, *_, payload = first
    name = f"{session_id}\0{position}\0{timestamp}\0".encode("utf-8", "surrogatepass")
    return f"s_{timestamp:011x}{blake2b(name + payload, digest_size=5).hexdigest()}"
