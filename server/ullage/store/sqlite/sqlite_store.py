"""The session store in one SQLite file, which may also be opened only to be read."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import RLock

from ullage.store.search.searcher import Searcher
from ullage.store.search.word_index import WordIndex
from ullage.store.sqlite.database import (
    SameFile,
    check_file,
    connect,
    default_path,
    overwrite_deleted,
    reconnect,
    transaction,
    writing,
)
from ullage.store.sqlite.fts5_index import Fts5Index, Fts5Transactions
from ullage.store.sqlite.sqlite_errors import reporting
from ullage.store.table_store import TableStore
from ullage.store.tables.connection import Connection


def open_store(path: Path | None = None) -> "SqliteStore":
    """Opens the store at `path`, by default in the user's data folder. Makes the file and its folders if they are
    missing.

    Raises `StoreTooNew` if a newer Ullage wrote it and `StoreUnavailable` if it cannot be used; then the file is not
    changed.
    """
    path = path or default_path()
    with reporting(path):
        return SqliteStore(path, connect(path))


class SqliteStore(TableStore):
    """The session store in one SQLite file. Threads wait for each other's transactions, except in `search`,
    `find_passages`, `index_some` and `read_apart`. Any number of processes may have the same file open.

    An append that returned survives `kill -9` of the process. After a power cut the newest appends may be missing, from
    the last one backwards; the file stays intact.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._index = Fts5Transactions(path)
        self._searcher = Searcher(self._index)
        self._reporting = reporting(path)
        own, lock = Fts5Index(connection), RLock()
        self._to_read = _Reported(own, self._reporting, transaction(connection, "DEFERRED"), lock)
        self._to_write = _Reported(own, self._reporting, writing(connection, SameFile(path)), lock)

    @property
    def path(self) -> Path:
        """The path of the store's file."""
        return self._path

    def close(self) -> None:
        """Closes the store's file. The store cannot be used afterwards."""
        with self._reporting:
            self._index.close()
            self._connection.close()

    def version(self) -> int:
        with self._reporting:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return version

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        self._index.merge_all()
        overwrite_deleted(self._path, rewrite=rewrite)

    def reading(self) -> AbstractContextManager[Connection]:
        return self._to_read

    def _writing(self, _: str, /) -> AbstractContextManager[Connection]:
        # SQLite lets one connection write at a time, whatever the session.
        return self._to_write

    def _writing_alone(self) -> AbstractContextManager[WordIndex]:
        return self._to_write

    @contextmanager
    def _reading_apart(self) -> Generator[Connection]:
        with self._reporting, closing(reconnect(self._path)) as connection, transaction(connection, "DEFERRED"):
            yield Fts5Index(connection)


class _Reported:
    """A transaction whose failures, and those of its block, are raised as Ullage's errors. Every access to the store
    passes here, and a class costs a third of a generator.

    A connection has one transaction at a time: another thread's would be committed with it, or half of it. So threads
    wait for the `lock`."""

    __slots__ = ("_connection", "_lock", "_reporting", "_transaction")

    def __init__(self, connection: WordIndex, reports: reporting, of: transaction, lock: RLock) -> None:
        self._connection, self._reporting, self._transaction, self._lock = connection, reports, of, lock

    def __enter__(self) -> WordIndex:
        self._lock.acquire()
        try:
            with self._reporting:
                self._transaction.__enter__()
        except BaseException:
            self._lock.release()
            raise
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            with self._reporting:
                self._transaction.__exit__(kind, error, trace)
        finally:
            self._lock.release()
        self._reporting.__exit__(kind, error, trace)


# The files of one database that hold content: with a write-ahead log or a rollback journal. SQLite makes the -shm file.
_PARTS = ("", "-wal", "-journal")


@contextmanager
def open_to_read(path: Path | None = None) -> Generator[SqliteStore]:
    """Opens the store at `path`, by default in the user's data folder, for a caller that changes nothing, and yields
    it.

    A missing store is read as an empty one and is not made. A store that may not be written to is copied, because
    SQLite cannot read a database in WAL mode without writing next to it. Raises `StoreTooNew` or `StoreUnavailable`.
    """
    path = path or default_path()
    if path.exists() and _is_writable(path):
        with open_store(path) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        copy = Path(folder) / "sessions.db"
        _copy(path, copy)
        with open_store(copy) as store:
            yield store


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _copy(path: Path, copy: Path) -> None:
    """Copies the store's files, if there are any. Raises `StoreTooNew` for the store of a newer Ullage, and
    `StoreUnavailable` if `path` is not a store or cannot be read."""
    with reporting(path):
        check_file(path)
        for part in _PARTS:
            source = path.with_name(path.name + part)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + part))
