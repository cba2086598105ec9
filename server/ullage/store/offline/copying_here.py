"""Copies sessions of a server to this machine, so that they can be continued without it."""

from itertools import takewhile

from ullage.model.errors import ConcurrentAppend
from ullage.store.offline.local_copy import LocalCopy
from ullage.store.store_copy import same_records
from ullage.store.table_store import TableStore
from ullage.store.tables.copied_rows import SessionRow

# Records of one transaction. Between two, the process's other threads may write.
_BATCH = 200
_TRIES = 8
# Records among which an import says where it comes from.
_BEGINNING = 8


def copy_here(remote: TableStore, local: LocalCopy, session_id: str) -> bool:
    """Copies what is missing here of a session and of those that it inherits from. Returns False if the session isn't
    whole here afterwards, because it has unsent records, was deleted, or is being written to again and again."""
    rows: list[SessionRow] = []
    current: str | None = session_id
    while current is not None:
        row = remote.copied_session(current)
        if row is None:
            local.forget(current)
            return False
        rows.append(row)
        current = row.parent_id
    return all(_copy_one(remote, local, row) for row in reversed(rows))


def copy_beginning(remote: TableStore, local: LocalCopy, session_id: str) -> None:
    """Copies only what comes before the first message of a session of which nothing is here yet, for lack of room."""
    row = remote.copied_session(session_id)
    if row is not None and row.parent_id is None and local.copied_session(session_id) is None:
        local.set_cut(session_id, is_cut=True)
        first = takewhile(lambda record: record[4] is None, remote.copied_records(session_id, -1, _BEGINNING))
        local.receive(row, -1, tuple(first))


def _copy_one(remote: TableStore, local: LocalCopy, row: SessionRow) -> bool:
    for _ in range(_TRIES):
        # The end is read before the mark: what another process appends in between is not taken for the server's.
        end = _end_here(remote, local, row)
        if local.is_unsent(row.session_id):
            return False
        try:
            _copy_after(remote, local, row, end)
        except ConcurrentAppend:
            continue
        local.set_cut(row.session_id, is_cut=False)
        return True
    return False


def _copy_after(remote: TableStore, local: LocalCopy, row: SessionRow, end: int) -> None:
    if local.copied_session(row.session_id) is None:
        local.receive(row, -1, ())
    while records := remote.copied_records(row.session_id, end, _BATCH):
        local.receive(row, end, records)
        end = records[-1][0]


def _end_here(remote: TableStore, local: LocalCopy, row: SessionRow) -> int:
    """Returns the position of the last record here that is the server's, too. Deletes what isn't, as after the server
    was restored from a backup."""
    last = local.last_own(row.session_id)
    if last is None:
        return -1
    if same_records((last,), remote.copied_records(row.session_id, last[0] - 1, 1)):
        return last[0]
    local.cut(row.session_id, -1)
    return -1
