"""The check of the store's file before SQLite opens it for writing, so that a file of another program stays untouched.

The file is read through SQLite alone. POSIX gives up all locks of a process on a file as soon as the process closes it
once, which SQLite knows and other code does not: another process would then delete the write-ahead log that this one
still appends to (https://www.sqlite.org/howtocorrupt.html, section 2.2).

A read-only connection to a file with a write-ahead log would leave `-wal` and `-shm` files. So a file without a `-wal`
file is read as one that no process changes. If a `-wal` file exists, it may hold newer numbers.
"""

import errno
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock

from msgspec import Struct

from ullage.model.errors import StoreTooNew
from ullage.store.sqlite.journal import lacks_shared_memory
from ullage.store.sqlite.migrations import APPLICATION_ID, VERSION, numbers
from ullage.store.sqlite.sqlite_errors import unavailable

# Bytes. A shorter file is no database (https://www.sqlite.org/fileformat2.html#the_database_header).
_HEADER_SIZE = 100
_NOT_CHANGING, _READ_ONLY = "immutable=1", "mode=ro"
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
    return path.with_name(f"{path.name}.version-{version}")


def _read_stamp(path: Path) -> _Stamp:
    if path.stat().st_size < _HEADER_SIZE:
        raise unavailable(path, "is not a session store: choose another file")
    wal = path.with_name(f"{path.name}-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    first, second = (_READ_ONLY, _NOT_CHANGING) if has_wal else (_NOT_CHANGING, _READ_ONLY)
    try:
        return _ask_sqlite(path, first)
    except sqlite3.DatabaseError as error:
        # Another process may be in the middle of a commit; and without shared memory no log is read.
        if not lacks_shared_memory(error) and getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
    return _ask_sqlite(path, second)


def _ask_sqlite(path: Path, how: str) -> _Stamp:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        schema_version, user_version, application_id = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("schema_version", "user_version", "application_id")
        )
    return _Stamp(schema_version=schema_version, user_version=user_version, application_id=application_id)


def make_file(path: Path) -> None:
    """Makes an empty file that only the user may read, and its folders, if they are missing. Raises `OSError`, also if
    the file may not be written."""
    # A thread that finds the file may lock it. So none finds it before it is closed.
    with _making:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
