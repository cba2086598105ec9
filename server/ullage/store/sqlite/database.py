"""The store's file: its check before SQLite opens it for writing, so that a file of another program stays untouched,
connections to it, and transactions on it.

The file is read through SQLite alone. POSIX gives up all locks of a process on a file as soon as the process closes it
once, which SQLite knows and other code does not: another process would then delete the write-ahead log that this one
still appends to (https://www.sqlite.org/howtocorrupt.html, section 2.2).

A read-only connection to a file with a write-ahead log would leave `-wal` and `-shm` files. So a file without a `-wal`
file is read as one that no process changes. If a `-wal` file exists, it may hold newer numbers.
"""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Literal

from msgspec import Struct

from ullage.host.side_files import BEFORE, COPYING, STORE, beside, data_folder
from ullage.model.errors import StoreTooNew
from ullage.store.sqlite.journal import lacks_shared_memory, leave_log, set_journal, set_synchronous
from ullage.store.sqlite.migrations import APPLICATION_ID, VERSION, migrate, numbers
from ullage.store.sqlite.sqlite_errors import BUSY_TIMEOUT, reporting, unavailable

# Times that the write-ahead log is tried to be emptied, each for as long as a transaction is waited for.
_CHECKPOINTS = 6
# Bytes of the largest store that is copied before its tables change.
_LARGEST_COPY = 1 << 30


def default_path() -> Path:
    """Returns the path of the store in the user's data folder."""
    return data_folder() / STORE


def connect(path: Path) -> sqlite3.Connection:
    """Returns a connection to the store's file, which is made if missing, with its tables up to date."""
    check_file(path)
    make_file(path)
    return connected(path, lambda connection: _prepare(connection, path))


def reconnect(path: Path) -> sqlite3.Connection:
    """Returns a further connection to a file that `connect` has opened. Any thread may use it, one at a time."""
    return _ready(path, set_synchronous)


def connected(
    path: Path, prepare: Callable[[sqlite3.Connection], None], layout: str = "SELECT 1"
) -> sqlite3.Connection:
    """Returns a connection to a file that exists, after it was given its journal and `prepare` was applied. `layout` is
    a statement that has to come before the journal. Any thread may use the connection, one at a time. If that fails, it
    is closed and `sqlite3.Error` or `OSError` raised."""

    def prepare_journal(connection: sqlite3.Connection) -> None:
        connection.execute(layout)
        set_journal(connection, path)
        set_synchronous(connection)
        prepare(connection)

    try:
        return _ready(path, prepare_journal)
    except sqlite3.OperationalError as error:
        if not lacks_shared_memory(error):
            raise
    leave_log(path)
    return _ready(path, prepare_journal)


def _ready(path: Path, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        # Overwrites what is deleted. Not every SQLite does so by itself: its own default leaves it in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        prepare(connection)
    except (sqlite3.Error, OSError):
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) < VERSION:
        with transaction(connection, "IMMEDIATE"):
            if 0 < _version(connection) < VERSION:
                _keep_copy(connection, path)
            migrate(connection)


def _version(connection: sqlite3.Connection) -> int:
    return numbers(connection.execute("PRAGMA user_version").fetchone()[0])[1]


def _keep_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Copies a store that nobody else writes, as a way back to the Ullage that wrote it, and removes an older copy. A
    store that is too large, or for which the disk lacks room, is not copied."""
    copy, made = copy_before(path, _version(connection)), beside(path, COPYING)
    size = path.stat().st_size
    _remove_copies(path)
    if size > _LARGEST_COPY or shutil.disk_usage(path.parent).free < 3 * size:
        return
    try:
        make_file(made)
        # A connection of its own sees what is committed, also in the log.
        with closing(reconnect(path)) as source, closing(sqlite3.connect(made)) as target:
            source.backup(target)
        made.replace(copy)
    except (OSError, sqlite3.Error):
        _remove_copies(path)


def _remove_copies(path: Path) -> None:
    for old in (*path.parent.glob(f"{path.name}{BEFORE}*"), beside(path, COPYING)):
        with suppress(OSError):
            old.unlink()


def overwrite_deleted(path: Path, what: str = "session store", *, rewrite: bool) -> None:
    """Empties the write-ahead log of a file, where deleted rows may still be, and removes its copy from before an
    upgrade. With `rewrite`, writes the whole file again before that: what was deleted by a connection without
    `secure_delete` may be anywhere between its rows.

    Blocks, on a connection of its own. Raises `StoreUnavailable` if another process keeps the log in use for longer
    than a transaction takes.
    """
    with reporting(path, what):
        _remove_copies(path)
        connection = reconnect(path)
        try:
            if rewrite:
                connection.execute("VACUUM")
            for _ in range(_CHECKPOINTS):
                (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not is_busy:
                    return
        finally:
            connection.close()
    raise unavailable(
        path, "is being read by another process: what was deleted stays in its -wal file until it ends", what
    )


class SameFile:
    """The file at the store's path, with its write-ahead log and the index of that, to notice that one of them is
    another file, or none, while a connection is open. SQLite would then commit to a file that no program opens again.
    It keeps both files while any connection is open."""

    def __init__(self, path: Path) -> None:
        path = path.absolute()
        self._known = {part: _identity(part) for part in (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm")))}
        self._path = path

    def require(self) -> None:
        """Raises `StoreUnavailable` if one of the files was deleted, moved or replaced."""
        for part, known in self._known.items():
            found = _identity(part)
            if found == known:
                continue
            if known is None and part != self._path:
                # SQLite makes it when it is first needed.
                self._known[part] = found
                continue
            raise unavailable(
                part,
                "was deleted, moved or replaced while it was open, and what is said now would be kept nowhere: "
                "put it back, or start Ullage again",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
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


# Bytes. A shorter file is no database (https://www.sqlite.org/fileformat2.html#the_database_header).
_HEADER_SIZE = 100
_NOT_CHANGING, _READ_ONLY = "immutable=1", "mode=ro"
# What a file may seem to be while another process commits to it, or empties or removes its log; how often it is read
# again then, and the seconds in between.
_PASSING = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN)
_TRIES, _TRY_AGAIN = 5, 0.02
# Conversations are private to the user. SQLite gives the files next to it the same mode.
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_making = Lock()


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
    needed, version = numbers(stamp.user_version)
    if needed > VERSION:
        kept = copy_before(path, VERSION)
        other = f"choose its copy from before the upgrade, {kept}" if kept.exists() else "choose another file"
        raise StoreTooNew(
            f"session store {path} has version {version}, this Ullage knows up to {VERSION}: "
            f"update Ullage, or {other}; nothing was changed"
        )


def copy_before(path: Path, version: int) -> Path:
    """Returns the path of the copy that is made of a store of a version before a newer Ullage changes its tables."""
    return beside(path, f"{BEFORE}{version}")


def _read_stamp(path: Path) -> _Stamp:
    if path.stat().st_size < _HEADER_SIZE:
        raise unavailable(path, "is not a session store: choose another file")
    wal = path.with_name(f"{path.name}-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    ways = (_READ_ONLY, _NOT_CHANGING) if has_wal else (_NOT_CHANGING, _READ_ONLY)
    for how in ways * _TRIES:
        try:
            return _ask_sqlite(path, how)
        except sqlite3.DatabaseError as error:
            if not lacks_shared_memory(error) and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _PASSING:
                raise
            time.sleep(_TRY_AGAIN)
    return _ask_sqlite(path, ways[0])


def _ask_sqlite(path: Path, how: str) -> _Stamp:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        schema_version, user_version, application_id = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("schema_version", "user_version", "application_id")
        )
    return _Stamp(schema_version=schema_version, user_version=user_version, application_id=application_id)


def make_file(path: Path) -> None:
    """Makes an empty file for the user alone, and its folders, if missing. Raises `OSError` if it can't be written."""
    # A thread that finds the file may lock it. So none finds it before it is closed.
    with _making:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
