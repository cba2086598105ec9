"""The store's file: its path, connections to it, and transactions on it.

The file is checked before SQLite opens it for writing, so that a file of another program stays untouched. A read-only
connection to a file in WAL mode would leave `-wal` and `-shm` files. So a file without a `-wal` file is judged by the
100 bytes of its header (https://www.sqlite.org/fileformat2.html#the_database_header). If a `-wal` file exists, it may
hold a newer header, and SQLite is asked.
"""

import errno
import os
import sqlite3
import struct
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ullage.model.errors import StoreTooNew
from ullage.store.sqlite.migrations import APPLICATION_ID, VERSION, migrate
from ullage.store.sqlite.sqlite_errors import BUSY_TIMEOUT, unavailable

_MAGIC = b"SQLite format 3\x00"
_HEADER_SIZE = 100
_NO_LOG = "its file system has no locks or no shared memory for a write-ahead log"
# Seconds. Making the tables of a new file takes a few milliseconds.
_TRY_AGAIN = 0.005


class _Stamp(Struct, frozen=True, kw_only=True):
    """Numbers from a database file's header. `schema_version` counts changes of the tables: 0 means that the file has
    no table. `user_version` is the version of Ullage's tables, and `application_id` is the number of the program that
    owns the file, 0 if none does (https://www.sqlite.org/fileformat.html)."""

    schema_version: int
    user_version: int
    application_id: int


def check_file(path: Path) -> None:
    """Raises `StoreTooNew` if the file is the store of a newer Ullage, and `StoreUnavailable` if it is not a store. A
    missing or empty file is accepted. Changes nothing."""
    if path.is_dir():
        raise unavailable(path, "is a folder: name a file in it")
    if not path.exists() or path.stat().st_size == 0:
        return
    stamp = _read_stamp(path)
    if stamp.schema_version == 0:
        return
    if stamp.application_id != APPLICATION_ID:
        raise unavailable(path, "is another program's database: choose another file")
    if stamp.user_version > VERSION:
        raise StoreTooNew(
            f"session store {path} has version {stamp.user_version}, this Ullage knows up to {VERSION}: "
            "update Ullage, or choose another file; nothing was changed"
        )


def _read_stamp(path: Path) -> _Stamp:
    with path.open("rb") as file:
        header = file.read(_HEADER_SIZE)
    if len(header) < _HEADER_SIZE or not header.startswith(_MAGIC):
        raise unavailable(path, "is not a session store: choose another file")
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size > 0:
        return _ask_sqlite(path)
    schema_version, user_version, application_id = struct.unpack(">40xI16xI4xI28x", header)
    return _Stamp(schema_version=schema_version, user_version=user_version, application_id=application_id)


def _ask_sqlite(path: Path) -> _Stamp:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        schema_version, user_version, application_id = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("schema_version", "user_version", "application_id")
        )
    return _Stamp(schema_version=schema_version, user_version=user_version, application_id=application_id)


# Conversations are private to the user. SQLite gives the -wal and -shm files the same mode.
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def default_path() -> Path:
    """Returns the path of the store in the user's data folder."""
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False) / "sessions.db"


def connect(path: Path) -> sqlite3.Connection:
    """Opens the store's file and returns a connection to it. Makes the file and its folders if they are missing, and
    brings its tables up to date.

    WAL lets other processes read while one writes. `synchronous=NORMAL` hands each commit to the operating system
    without waiting for the disk. A commit survives the death of the process; a power cut may cost the newest commits,
    whole ones, and never damages the file (https://www.sqlite.org/pragma.html#pragma_synchronous).
    """
    check_file(path)
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, _FILE_MODE))
    return _ready(path, _prepare)


def reconnect(path: Path) -> sqlite3.Connection:
    """Returns a further connection to a file that `connect` has opened. Any thread may use it, one at a time."""
    return _ready(path, lambda _: None)


def _ready(path: Path, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """Returns a connection to which `prepare` was applied. If that fails, the connection is closed and the error
    raised."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        prepare(connection)
    except (sqlite3.Error, OSError):
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    log_ahead(connection)
    if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
        with transaction(connection, "IMMEDIATE"):
            migrate(connection)


def log_ahead(connection: sqlite3.Connection) -> None:
    """Gives a database its write-ahead log, if it has none. Raises `sqlite3.Error`, and `OSError` if it can have none.

    A file system without shared memory or without locks can have none, such as some that are mounted over a network.
    Several processes would damage the file there, so it is not used.

    SQLite refuses a log at once, whatever the timeout, while another process writes to the file, as each does that
    opens a new one at the same time. So it is tried again for as long as other writers wait.
    """
    until = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_TRY_AGAIN)
        else:
            if mode != "wal":
                raise OSError(errno.ENOSYS, _NO_LOG)
            return


class SameFile:
    """The file at the store's path, to notice that it is another one, or none, while a connection is open. SQLite would
    then commit to a file that no program opens again."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._identity = self._found()

    def require(self) -> None:
        """Raises `StoreUnavailable` if the file was deleted, moved or replaced."""
        if self._found() != self._identity:
            raise unavailable(
                self._path,
                "was deleted, moved or replaced while it was open, and what is said now would be kept nowhere: "
                "put it back, or start Ullage again",
            )

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class transaction:  # noqa: N801 - a context manager, used like a function
    """Runs the `with` block as one transaction, which is rolled back if the block raises. IMMEDIATE takes the write
    lock at the start, so what the block reads stays true until it writes; DEFERRED gives several reads one consistent
    state."""

    __slots__ = ("_connection", "_mode")

    def __init__(self, connection: sqlite3.Connection, mode: Literal["IMMEDIATE", "DEFERRED"]) -> None:
        self._connection = connection
        self._mode = mode

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute(f"BEGIN {self._mode}")
        return self._connection

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


class writing(transaction):  # noqa: N801 - a context manager, used like a function
    """Runs the `with` block as a transaction that writes to the store's file. After its commit it raises
    `StoreUnavailable` if the path no longer leads to that file, so that nothing is acknowledged that is then
    lost."""

    __slots__ = ("_file",)

    def __init__(self, connection: sqlite3.Connection, file: SameFile) -> None:
        super().__init__(connection, "IMMEDIATE")
        self._file = file

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            self._file.require()
