"""The thread that copies sessions of a server to this machine, and waits for a server that is away."""

import logging
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from threading import Condition, Thread

from msgspec import Struct

from ullage.model.errors import ConcurrentAppend, UllageError
from ullage.store.offline.local_copy import LocalCopy, open_copy
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


log = logging.getLogger(__name__)
# Seconds until a server that is away is reached for, first and at most: it may be back soon, or not for hours.
_FIRST, _MOST = 1.0, 15.0
# The part of the limit down to which room is made, so that it is not made again for each session.
_FULL = 0.8


class CopyOptions(Struct, frozen=True, kw_only=True):
    """What is copied: with `keeps_files` also the imported conversations whose files are on this machine. Above `limit`
    bytes, sessions leave the copy that were not used for longest, and of conversations that only have a file only
    beginnings are copied."""

    keeps_files: bool = False
    limit: int | None = None


# Copies what is used, without a bound.
WITHOUT_OPTIONS = CopyOptions()


class Upkeep:
    """Copies sessions, or reaches for the server, in a thread that begins when there is something to do.

    `try_again` is called in the thread with a copy of its own. It calls `use` and returns True if the server is back.
    """

    def __init__(
        self, path: Path, try_again: Callable[[LocalCopy], bool], options: CopyOptions = WITHOUT_OPTIONS
    ) -> None:
        self._path, self._try_again = path, try_again
        self._keeps_files, self._limit = options.keeps_files, options.limit
        self._todo = Condition()
        # The sessions to copy, and whether they are used here.
        self._sessions: dict[str, bool] = {}
        self._remote: TableStore | None = None
        # Closed by the thread, because it takes seconds.
        self._lost: list[TableStore] = []
        self._stopped = self._asks_for_files = False
        self._thread: Thread | None = None

    def use(self, remote: TableStore | None) -> None:
        """Says which store sessions are copied from. None: the server is away, and is reached for."""
        with self._todo:
            if self._remote is not None:
                self._lost.append(self._remote)
            self._remote = remote
            self._asks_for_files = self._keeps_files and remote is not None
            if remote is None or self._asks_for_files:
                self._begin()

    def copy(self, session_id: str) -> None:
        """Copies what is missing here of a session, later. Does nothing while the server is away."""
        with self._todo:
            if self._remote is not None and session_id:
                self._sessions[session_id] = True
                self._begin()

    def stop(self) -> None:
        """Ends the thread, after the batch that it is copying."""
        with self._todo:
            self._stopped = True
            self._todo.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._close_lost()

    def copy_now(self, remote: TableStore, local: LocalCopy, session_id: str, *, is_used: bool) -> None:
        """Copies a session, and makes room if too much is here then. Raises `UllageError`."""
        if self._limit is None:
            copy_here(remote, local, session_id)
            return
        room = int(self._limit * _FULL)
        if is_used:
            local.use(session_id)
        elif local.size() > room:
            copy_beginning(remote, local, session_id)
            return
        copy_here(remote, local, session_id)
        if local.size() > self._limit:
            gone = local.make_room(room)
            log.info("Removed the messages of %d sessions from the copy on this machine", gone)

    def _begin(self) -> None:
        if self._thread is None and not self._stopped:
            self._thread = Thread(target=self._serve, name="ullage-offline", daemon=True)
            self._thread.start()
        self._todo.notify_all()

    def _serve(self) -> None:
        try:
            with open_copy(self._path) as local:
                while self._next(local):
                    pass
        except UllageError as error:
            log.warning("Copies nothing to this machine: %s", error)

    def _next(self, local: LocalCopy) -> bool:
        """Does one thing. Returns False when stopped."""
        with self._todo:
            self._todo.wait_for(lambda: self._stopped or self._remote is None or self._asks_for_files or self._sessions)
            remote, asks, self._asks_for_files = self._remote, self._asks_for_files, False
            session_id = "" if asks else next(iter(self._sessions), "")
            is_used = self._sessions.pop(session_id, False)
        if self._stopped:
            return False
        if remote is None:
            return self._wait_for_server(local)
        if asks:
            self._ask_for_files(remote)
            return True
        try:
            self.copy_now(remote, local, session_id, is_used=is_used)
        except UllageError as error:
            # The next use of the store notices a server that is away.
            log.info("Could not copy session %s to this machine: %s", session_id, error)
        return True

    def _wait_for_server(self, local: LocalCopy) -> bool:
        pause = _FIRST
        self._close_lost()
        while True:
            with self._todo:
                if self._todo.wait_for(lambda: self._stopped, pause):
                    return False
            if self._try_again(local):
                return True
            pause = min(2 * pause, _MOST)

    def _close_lost(self) -> None:
        while self._lost:
            try:
                self._lost.pop().close()
            except UllageError as error:
                log.info("Could not close a lost connection: %s", error)

    def _ask_for_files(self, remote: TableStore) -> None:
        """Has the conversations copied that agents write on this machine: without the server they would be imported as
        new ones."""
        try:
            imported = remote.imported()
        except UllageError as error:
            log.info("Could not ask for conversations: %s", error)
            return
        here = {one.session_id: False for one in imported if one.path and Path(one.path).exists()}
        with self._todo:
            self._sessions = {**here, **self._sessions}
