"""A session store on a server that is not always reached: without it, a copy on this machine is used."""

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, Self, TypeVar

from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import Conflict, SessionNotFound, StoreError, StoreUnavailable, UllageError
from ullage.model.events import Record
from ullage.service.ports.store import (
    AttachedSession,
    ChunkId,
    ImportedSession,
    Passage,
    SearchHit,
    SessionInfo,
    StoredSession,
    StoreNews,
)
from ullage.store.offline.catching_up import CaughtUp, catch_up
from ullage.store.offline.local_copy import LocalCopy, open_copy
from ullage.store.offline.upkeep import WITHOUT_OPTIONS, CopyOptions, Upkeep
from ullage.store.table_store import TableStore

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
                self._send_first(remote)
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
        """Creates a session; see `SessionStore.create`."""
        with self._lock:
            if self._written(lambda remote: remote.create(session_id, records)):
                self._kept(session_id, lambda: self._local.keep(session_id, records, is_new=True))
            else:
                self._here(lambda local: local.create_unsent(session_id, records))

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        """Appends records; see `SessionStore.append`."""
        with self._lock:
            if self._written(lambda remote: remote.append(session_id, records)):
                self._kept(session_id, lambda: self._local.keep(session_id, records))
            else:
                self._here(lambda local: local.append_unsent(session_id, records))

    def delete(self, session_id: str) -> None:
        """Deletes a session; see `SessionStore.delete`."""
        with self._lock:
            if self._written(lambda remote: remote.delete(session_id)):
                self._kept(session_id, lambda: self._local.forget(session_id))
            else:
                self._here(lambda local: local.delete_unsent(session_id))

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        """Overwrites what deleted sessions have left on this machine; see `SessionStore.erase_deleted`."""
        self._local.erase_deleted(rewrite=rewrite)

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        """Saves a snapshot; see `SessionStore.save_snapshot`."""

        def save(store: TableStore) -> None:
            # Of a session that another process continues without the server, the copy has another log.
            if store is not self._local or self.is_away or not self._local.is_unsent(session_id):
                store.save_snapshot(session_id, position, snapshot)

        self._in_both(session_id, save)

    def drop_snapshot(self, session_id: str) -> None:
        """Deletes a snapshot; see `SessionStore.drop_snapshot`."""
        self._in_both(session_id, lambda store: store.drop_snapshot(session_id))

    def save_calibration(self, model: str, calibration: bytes) -> None:
        """Saves a calibration; see `SessionStore.save_calibration`."""
        self._in_both("", lambda store: store.save_calibration(model, calibration))

    def open(self, session_id: str) -> StoredSession:
        """Opens a session; see `SessionStore.open`. The session is copied to this machine."""
        stored = self._read(lambda store: store.open(session_id))
        self._upkeep.copy(session_id)
        return stored

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        """Returns records of a session; see `SessionStore.read`."""
        records = self._read(lambda store: store.read(session_id, start, stop))
        if start > 0 and records:
            # Another machine may have written them.
            self._upkeep.copy(session_id)
        return records

    def find_message(self, session_id: str, message_id: str) -> Record | None:
        """Returns a message's record; see `SessionStore.find_message`."""
        return self._read(lambda store: store.find_message(session_id, message_id))

    def find_index(self, session_id: str, message_id: str) -> int | None:
        """Returns a message's index; see `SessionStore.find_index`."""
        return self._read(lambda store: store.find_index(session_id, message_id))

    def read_messages(self, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
        """Returns messages' records; see `SessionStore.read_messages`."""
        return self._read(lambda store: store.read_messages(session_id, start, stop))

    def read_edits(self, session_id: str) -> tuple[Record, ...]:
        """Returns the records of edits; see `SessionStore.read_edits`."""
        return self._read(lambda store: store.read_edits(session_id))

    def info(self, session_id: str) -> SessionInfo:
        """Returns a session as listed; see `SessionStore.info`."""
        return self._read(lambda store: store.info(session_id))

    def list(self, cwd: str | None = None, limit: int = 100, offset: int = 0) -> tuple[SessionInfo, ...]:
        """Lists sessions; see `SessionStore.list`."""
        return self._read(lambda store: store.list(cwd, limit, offset))

    def find_ids(self, prefix: str, limit: int = 100) -> tuple[str, ...]:
        """Returns ids; see `SessionStore.find_ids`."""
        return self._read(lambda store: store.find_ids(prefix, limit))

    def sessions_with(self, message_id: str) -> tuple[str, ...]:
        """Returns the sessions with a message; see `SessionStore.sessions_with`."""
        return self._read(lambda store: store.sessions_with(message_id))

    def imported(self) -> tuple[ImportedSession, ...]:
        """Returns the imported sessions; see `SessionStore.imported`."""
        return self._read(lambda store: store.imported())

    def attached(self) -> tuple[AttachedSession, ...]:
        """Returns the sessions with agents' ids; see `SessionStore.attached`."""
        return self._read(lambda store: store.attached())

    def own_settings(self) -> tuple[Mapping[str, Any], ...]:
        """Returns sessions' own settings; see `SessionStore.own_settings`."""
        return self._read(lambda store: store.own_settings())

    def load_calibration(self, model: str) -> bytes | None:
        """Returns a calibration; see `SessionStore.load_calibration`."""
        return self._read(lambda store: store.load_calibration(model))

    def version(self) -> int:
        """Returns a number that changes with the store; see `SessionStore.version`."""
        with self._lock:
            return self._read(lambda store: store.version()) + self._epoch * _EPOCH

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        """Returns all records of a session, in any thread; see `SessionStore.read_apart`."""
        return self._read_apart(lambda store: store.read_apart(session_id))

    def search(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[SearchHit, ...]:
        """Searches; see `SessionStore.search`."""
        return self._read_apart(lambda store: store.search(query, session_id, limit))

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        """Searches what is indexed; see `SessionStore.find_passages`."""

        def find(store: TableStore) -> tuple[Passage, ...]:
            found = store.find_passages(query, session_id, limit)
            # A record has another id at the server, and a vector that is kept for it must not be another record's.
            return found if store is not self._local else tuple(replace(one, record_id=-one.record_id) for one in found)

        return self._read_apart(find)

    def index_some(self, session_id: str | None = None) -> int:
        """Indexes some records; see `SessionStore.index_some`."""
        return self._read_apart(lambda store: store.index_some(session_id))

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        """Returns kept vectors; see `SessionStore.load_vectors`. The copy keeps none."""
        known = [chunk for chunk in chunks if chunk[0] >= 0]
        return self._read_apart(lambda store: {} if store is self._local else store.load_vectors(model, known))

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        """Keeps vectors; see `SessionStore.save_vectors`."""
        known = {chunk: vector for chunk, vector in vectors.items() if chunk[0] >= 0}
        self._read_apart(lambda store: None if store is self._local else store.save_vectors(model, known))

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

    def _kept(self, session_id: str, keep: Callable[[], object]) -> None:
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

    def _read(self, read: Callable[[TableStore], T]) -> T:
        with self._lock:
            return self._read_apart(read)

    def _read_apart(self, read: Callable[[TableStore], T]) -> T:
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

    def _send_first(self, remote: TableStore) -> None:
        """Sends what was not sent before this process began."""
        try:
            self._sent(catch_up(self._local, remote))
        except StoreUnavailable as error:
            self._require_away(error)
            remote.close()

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
