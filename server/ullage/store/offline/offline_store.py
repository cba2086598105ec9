"""A session store on a server that is not always reached: without it, a copy on this machine is used.

A thread copies sessions of the server to this machine, and waits for a server that is away.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from itertools import takewhile
from pathlib import Path
from threading import Condition, RLock, Thread
from typing import Concatenate, ParamSpec, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import ConcurrentAppend, Conflict, SessionNotFound, StoreError, StoreUnavailable, UllageError
from ullage.model.events import Record
from ullage.service.ports.store import ChunkId, Passage, StoredSession, StoreNews
from ullage.store.offline.local_copy import CaughtUp, LocalCopy, catch_up, open_copy
from ullage.store.store_copy import same_records
from ullage.store.table_store import SessionRow, TableStore

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
    """Copies only what comes before the first message of a session that is not here yet, for lack of room."""
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
            if local.copied_session(row.session_id) is None:
                local.receive(row, -1, ())
            while records := remote.copied_records(row.session_id, end, _BATCH):
                local.receive(row, end, records)
                end = records[-1][0]
        except ConcurrentAppend:
            continue
        local.set_cut(row.session_id, is_cut=False)
        return True
    return False


def _end_here(remote: TableStore, local: LocalCopy, row: SessionRow) -> int:
    """Returns the last position here that is the server's, too. Deletes what isn't, as after a restored backup."""
    last = local.last_own(row.session_id)
    if last is None:
        return -1
    if same_records((last,), remote.copied_records(row.session_id, last[0] - 1, 1)):
        return last[0]
    local.cut(row.session_id, -1)
    return -1


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
        """Has agents' conversations copied: without the server they would be imported as new ones."""
        try:
            imported = remote.imported()
        except UllageError as error:
            log.info("Could not ask for conversations: %s", error)
            return
        here = {one.session_id: False for one in imported if one.path and Path(one.path).exists()}
        with self._todo:
            self._sessions = {**here, **self._sessions}


P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
# Above every number of changes that a store counts.
_EPOCH = 1 << 48


class MakesUpkeep(Protocol):
    """Makes the upkeep of a store; see `Upkeep`."""

    def __call__(self, path: Path, try_again: Callable[[LocalCopy], bool], options: CopyOptions, /) -> Upkeep:
        """Returns it. Nothing is done yet."""
        ...


class Server:
    """A server: its name for messages, `open`, which opens the store there or raises `StoreUnavailable`, and `is_away`,
    which says whether such an error means that the server can't be reached for now."""

    def __init__(
        self, name: str, open_store: Callable[[], TableStore], is_away: Callable[[StoreUnavailable], bool]
    ) -> None:
        self.name, self.open, self.is_away = name, open_store, is_away


def open_offline_store(
    server: Server, path: Path, options: CopyOptions = WITHOUT_OPTIONS
) -> "OfflineStore | TableStore":
    """Opens the store on a server, with the copy in a file for times without it. What was not sent before is sent
    first.

    Raises what `Server.open` does, also if the server is away and was never reached from here. If the copy can't be
    used, the store has none.
    """
    try:
        remote = server.open()
    except StoreUnavailable as error:
        # Without a copy the address may be a wrong one, and what is said would wait for ever.
        if not server.is_away(error) or not path.exists():
            raise
        return OfflineStore(server, path, None, options)
    try:
        return OfflineStore(server, path, remote, options)
    except StoreError as error:
        log.warning("Works without a copy on this machine: %s", error)
        return remote


def has_unsent(path: Path) -> bool:
    """Returns whether a copy has something that its server lacks. A missing file has nothing."""
    if not path.exists():
        return False
    with open_copy(path) as local:
        return bool(local.unsent())


def _asks(
    method: Callable[Concatenate[TableStore, P], T], *, apart: bool = False
) -> Callable[Concatenate["OfflineStore", P], T]:
    """Returns a method that reads by this one, which no store has of its own; see `SessionStore`."""

    @wraps(method)
    def read(self: "OfflineStore", *args: P.args, **named: P.kwargs) -> T:
        return (self.ask_apart if apart else self.ask)(lambda store: method(store, *args, **named))

    return read


class OfflineStore:
    """A `SessionStore` on a server.

    While the server answers, everything is read from it and written to it; what is opened or written is copied to this
    machine as well. If it is lost, the copy is read and written. A thread of its own copies, waits for the server and
    sends it what it lacks; then the server is used again. `take_news` returns what the user should know of that.
    """

    def __init__(
        self,
        server: Server,
        path: Path,
        remote: TableStore | None,
        options: CopyOptions = WITHOUT_OPTIONS,
        make_upkeep: MakesUpkeep = Upkeep,
    ) -> None:
        self._server, self._path = server, path
        self._remote = remote
        self._local = open_copy(path)
        # Held while the owner's thread uses a store, and while it is changed which one is used.
        self._lock = RLock()
        self._epoch = 0
        self._news = deque[StoreNews]()
        self._moved = self._last_moved()
        self._upkeep = make_upkeep(path, self._try_again, options)
        try:
            if remote is None:
                self._lost()
            elif self._local.unsent():
                try:
                    self._sent(catch_up(self._local, remote))
                except StoreUnavailable as error:
                    self._require_away(error)
                    remote.close()
        except BaseException:
            self._local.close()
            raise
        self._upkeep.use(self._remote)

    @property
    def is_away(self) -> bool:
        """Whether the server can't be reached."""
        return self._remote is None

    def take_news(self) -> Sequence[StoreNews]:
        """Returns what has happened since the last call."""
        taken: list[StoreNews] = []
        while self._news:
            taken.append(self._news.popleft())
        return taken

    def close(self) -> None:
        """Closes the store, which can't be used afterwards."""
        self._upkeep.stop()
        with self._lock:
            self._local.close()
            if self._remote is not None:
                self._remote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        with self._lock:
            if self._written(lambda remote: remote.create(session_id, records)):
                self._copy_or_log(session_id, lambda: self._local.keep(session_id, records, is_new=True))
            else:
                self._here(lambda local: local.create_unsent(session_id, records))

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        with self._lock:
            if self._written(lambda remote: remote.append(session_id, records)):
                self._copy_or_log(session_id, lambda: self._local.keep(session_id, records))
            else:
                self._here(lambda local: local.append_unsent(session_id, records))

    def delete(self, session_id: str) -> None:
        with self._lock:
            if self._written(lambda remote: remote.delete(session_id)):
                self._copy_or_log(session_id, lambda: self._local.forget(session_id))
            else:
                self._here(lambda local: local.delete_unsent(session_id))

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        self._local.erase_deleted(rewrite=rewrite)

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        def save(store: TableStore) -> None:
            # Of a session that another process continues without the server, the copy has another log.
            if store is not self._local or self.is_away or not self._local.is_unsent(session_id):
                store.save_snapshot(session_id, position, snapshot)

        self._in_both(session_id, save)

    def drop_snapshot(self, session_id: str) -> None:
        self._in_both(session_id, lambda store: store.drop_snapshot(session_id))

    def save_calibration(self, model: str, calibration: bytes) -> None:
        self._in_both("", lambda store: store.save_calibration(model, calibration))

    def open(self, session_id: str) -> StoredSession:
        """Opens a session; see `SessionStore.open`. The session is copied to this machine."""
        stored = self.ask(lambda store: store.open(session_id))
        self._upkeep.copy(session_id)
        return stored

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        records = self.ask(lambda store: store.read(session_id, start, stop))
        if start > 0 and records:
            # Another machine may have written them.
            self._upkeep.copy(session_id)
        return records

    # What is read as it is.
    find_message = _asks(TableStore.find_message)
    find_index = _asks(TableStore.find_index)
    read_messages = _asks(TableStore.read_messages)
    read_edits = _asks(TableStore.read_edits)
    read_imports = _asks(TableStore.read_imports)
    info = _asks(TableStore.info)
    list = _asks(TableStore.list)
    find_ids = _asks(TableStore.find_ids)
    sessions_with = _asks(TableStore.sessions_with)
    imported = _asks(TableStore.imported)
    attached = _asks(TableStore.attached)
    own_settings = _asks(TableStore.own_settings)
    load_calibration = _asks(TableStore.load_calibration)

    def version(self) -> int:
        with self._lock:
            return self.ask(lambda store: store.version()) + self._epoch * _EPOCH

    search = _asks(TableStore.search, apart=True)

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        return self.ask_apart(lambda store: store.read_apart(session_id))

    def index_some(self, session_id: str | None = None) -> int:
        return self.ask_apart(lambda store: store.index_some(session_id))

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        def find(store: TableStore) -> tuple[Passage, ...]:
            found = store.find_passages(query, session_id, limit)
            # A record has another id at the server, and a vector that is kept for it must not be another record's.
            return found if store is not self._local else tuple(replace(one, record_id=-one.record_id) for one in found)

        return self.ask_apart(find)

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        """Returns kept vectors; see `SessionStore.load_vectors`. The copy keeps none."""
        known = [chunk for chunk in chunks if chunk[0] >= 0]
        return self.ask_apart(lambda store: {} if store is self._local else store.load_vectors(model, known))

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        known = {chunk: vector for chunk, vector in vectors.items() if chunk[0] >= 0}
        self.ask_apart(lambda store: None if store is self._local else store.save_vectors(model, known))

    def _written(self, write: Callable[[TableStore], None]) -> bool:
        """Writes to the server. Returns False if it is away; then it is not known whether something was written."""
        if self._remote is None:
            return False
        try:
            write(self._remote)
        except StoreUnavailable as error:
            self._require_away(error)
            return False
        return True

    def _copy_or_log(self, session_id: str, keep: Callable[[], object]) -> None:
        """Writes to the copy what the server has. What doesn't fit there is copied as a whole."""
        try:
            keep()
        except (Conflict, SessionNotFound):
            self._upkeep.copy(session_id)
        except UllageError as error:
            log.warning("Could not copy to this machine: %s", error)

    def _in_both(self, session_id: str, write: Callable[[TableStore], None]) -> None:
        with self._lock:
            if self._written(write):
                try:
                    write(self._local)
                except UllageError:
                    self._upkeep.copy(session_id)
            else:
                self._here(write)

    def ask(self, read: Callable[[TableStore], T]) -> T:
        """Reads from the store that is used now, in the owner's thread."""
        with self._lock:
            return self.ask_apart(read)

    def ask_apart(self, read: Callable[[TableStore], T]) -> T:
        """Reads from the store that is used now, in any thread."""
        remote = self._remote
        if remote is not None:
            try:
                return read(remote)
            except StoreUnavailable as error:
                with self._lock:
                    # Another thread may have lost it first.
                    if self._remote is remote:
                        self._require_away(error)
        return self._here(read)

    def _here(self, use: Callable[[LocalCopy], T]) -> T:
        try:
            return use(self._local)
        except SessionNotFound as error:
            # It may be at the server.
            raise StoreUnavailable(f"{error}; {words.store_away(self._server.name)}") from None

    def _require_away(self, error: StoreUnavailable) -> None:
        """Continues without the server if the error means that. Raises it otherwise."""
        if not self._server.is_away(error):
            raise error
        self._lost()
        self._upkeep.use(None)

    def _lost(self) -> None:
        self._remote = None
        self._epoch += 1
        here = len(self._local.find_ids("", _EPOCH))
        self._news.append(StoreNews(kind="offline", text=words.store_offline(self._server.name, here)))

    def _try_again(self, local: LocalCopy) -> bool:
        """Reaches for the server, in the thread of the upkeep. Sends what the server lacks and uses it from then on."""
        remote: TableStore | None = None
        try:
            remote = self._server.open()
            sent = catch_up(local, remote)
            with self._lock:
                # What was written meanwhile.
                sent += catch_up(local, remote)
                self._remote = remote
                self._epoch += 1
                self._sent(sent)
                self._upkeep.use(remote)
        except UllageError as error:
            log.info("Still without the server: %s", error)
            if remote is not None:
                remote.close()
            return False
        return True

    def _sent(self, sent: CaughtUp) -> None:
        moved = {session_id: fork_id for _, session_id, fork_id in self._local.moved(self._moved)}
        self._moved = self._last_moved()
        text = words.store_caught_up(self._server.name, sent.records, sent.sessions, sent.continued)
        # A fork that only has other positions now needs no notice of its own.
        self._news.append(StoreNews(kind="caught_up", text=text, moved=moved))
        self._news.extend(
            StoreNews(kind="forked", text=words.store_forked(session_id, fork_id))
            for session_id, fork_id in moved.items()
            if session_id != fork_id
        )

    def _last_moved(self) -> int:
        return max((number for number, *_ in self._local.moved()), default=0)
