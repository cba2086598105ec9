"""Sends to a server what a machine did without it: each record once, whatever happened to the sessions meanwhile."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import ConcurrentAppend, StoreUnavailable
from ullage.model.events import SessionForked, SessionRenamed
from ullage.store.offline.local_copy import LocalCopy, Settled, Unsent
from ullage.store.store_copy import same_records, write_checked
from ullage.store.table_store import TableStore
from ullage.store.tables.connection import decode_event, encode_event, event_name
from ullage.store.tables.copied_rows import RecordRow, SessionRow
from ullage.store.tables.session_table import NO_END

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
            self._delete(one, there)
        elif one.row is None:
            self.done.append(Settled(sent=one))
        elif (parent := self._moved_parent(one.row, there)) is not None:
            self._create_moved(one, one.row, parent)
        elif there is not None and not there.deleted:
            self._continue(one, one.row)
        elif there is None and one.after == (-1 if one.row.fork_position is None else one.row.fork_position):
            self._create(one, one.row)
        else:
            self._rescue(one, one.row)

    def _delete(self, one: Unsent, there: SessionRow | None) -> None:
        if there is not None and not there.deleted:
            if self._remote.copied_records(one.session_id, one.after, 1):
                self._continued.append(one.session_id)
            else:
                self._remote.delete(one.session_id)
        self.done.append(Settled(sent=one))

    def _create(self, one: Unsent, row: SessionRow) -> None:
        """Sends a session that was made without the server."""
        if row.parent_id is None or self._has(row.parent_id, row.fork_position):
            self._send_whole(row, self._local.copied_records(one.session_id, -1, NO_END))
            self.done.append(Settled(sent=one))
        else:
            self._rescue(one, row)

    def _create_moved(self, one: Unsent, row: SessionRow, parent: _Moved) -> None:
        """Sends a fork of what became another session. Its log is the same, at other positions."""
        position = (row.fork_position or 0) + parent.shift
        own = self._local.copied_records(one.session_id, -1, NO_END)
        moved = replace(row, parent_id=parent.session_id, fork_position=position)
        self._send_whole(moved, tuple(_shifted(record, parent) for record in own))
        self._moved[one.session_id] = replace(parent, session_id=one.session_id)
        self.done.append(Settled(sent=one, moved_to=one.session_id))

    def _moved_parent(self, row: SessionRow, there: SessionRow | None) -> _Moved | None:
        """Returns where the place is at which a fork begins, if that is in another session now. None for a fork that
        the server has at the old place."""
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
            self._send_snapshot(one, own)
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

    def _send_snapshot(self, one: Unsent, own: Sequence[RecordRow]) -> None:
        saved = self._local.saved_snapshot(one.session_id)
        if saved is not None and own and one.after < saved[0] <= own[-1][0]:
            self._remote.save_snapshot(one.session_id, *saved)

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
    """Returns an id that looks as others do, and is the same each time for the continuation that begins with this
    record."""
    position, timestamp, *_, payload = first
    name = f"{session_id}\0{position}\0{timestamp}\0".encode("utf-8", "surrogatepass")
    return f"s_{timestamp:011x}{blake2b(name + payload, digest_size=5).hexdigest()}"
