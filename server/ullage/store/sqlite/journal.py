"""The journal of a database: a write-ahead log, or a rollback journal on a file system that cannot have the log.

A write-ahead log lets other processes read while one writes. Its index is memory that processes share, which some file
systems do not give that are mounted over a network or into a virtual machine. With a rollback journal (SQLite's mode
DELETE) a commit waits until no process reads, and reading waits for a commit. Both need locks that hold between
processes: without them several processes would damage the file, so it is not used.
"""

import errno
import mmap
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from ullage.store.sqlite.sqlite_errors import BUSY_TIMEOUT

_NO_LOCKS = "its file system has no locks that hold between processes"
# Seconds. Making the tables of a new file takes a few milliseconds.
_TRY_AGAIN = 0.005
# https://www.sqlite.org/rescode.html#ioerr_shmmap and its neighbours
_NO_SHARED_MEMORY = (
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
# Another process tries to write while this one does.
_TRY_TO_WRITE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error.sqlite_errorname)
"""
_REFUSED = b"SQLITE_BUSY"
# Seconds. The process takes a few hundredths.
_PATIENCE = 60


def set_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Gives a database without tables a write-ahead log if it can have one, and checks the locks of one that has none.
    Raises `sqlite3.Error`, and `OSError` if there are no locks. If `lacks_shared_memory` is true for an error,
    `leave_log` helps."""
    (changes,) = connection.execute("PRAGMA schema_version").fetchone()
    if not changes and _shares_memory(path.parent):
        _change_mode(connection, "WAL")
    if not has_log(connection):
        _require_locks(connection, path)


def has_log(connection: sqlite3.Connection) -> bool:
    """Returns whether a database has a write-ahead log."""
    return connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def set_synchronous(connection: sqlite3.Connection) -> None:
    """Sets when a commit waits for the disk.

    With a write-ahead log, NORMAL hands each commit to the operating system without waiting. A commit survives the
    death of the process; a power cut may cost the newest commits, whole ones, and never damages the file
    (https://www.sqlite.org/pragma.html#pragma_synchronous). With a rollback journal, a power cut could damage it then.
    FULL waits, as it does everywhere if `ULLAGE_DURABLE` is `on`.
    """
    waits = os.environ.get("ULLAGE_DURABLE", "").lower() in ("on", "1") or not has_log(connection)
    connection.execute(f"PRAGMA synchronous = {'FULL' if waits else 'NORMAL'}")


def lacks_shared_memory(error: Exception) -> bool:
    """Returns whether an error says that a write-ahead log is not possible on the file system."""
    return getattr(error, "sqlite_errorcode", None) in _NO_SHARED_MEMORY


def leave_log(path: Path) -> None:
    """Gives a database a rollback journal, also if its log was begun elsewhere. Raises `sqlite3.Error`."""
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)) as connection:
        # A process that has the file for itself keeps the index of the log in its own memory.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _change_mode(connection, "DELETE")


def _shares_memory(folder: Path) -> bool:
    """Returns whether processes can share memory by files in a folder. SQLite finds out only after it has begun a log,
    which another process may then find."""
    # Not every such file system keeps a file that has no name.
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.truncate(mmap.PAGESIZE)
        try:
            mmap.mmap(file.fileno(), mmap.PAGESIZE).close()
        except OSError:
            return False
    return True


def _change_mode(connection: sqlite3.Connection, mode: str) -> None:
    """Changes the journal. SQLite refuses that at once, whatever the timeout, while another process writes to the file,
    as each does that opens a new one at the same time. So it is tried again for as long as other writers wait."""
    until = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_TRY_AGAIN)
        else:
            return


def _require_locks(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `OSError` unless another process is kept from writing while this one does."""
    command = [sys.executable, "-I", "-c", _TRY_TO_WRITE, str(path.absolute())]
    connection.execute("BEGIN IMMEDIATE")
    try:
        # A program that was frozen into one file is no Python: it would run itself.
        asked = None if hasattr(sys, "frozen") else _ask(command)
    finally:
        connection.execute("ROLLBACK")
    if asked != _REFUSED:
        raise OSError(errno.ENOLCK, _NO_LOCKS)


def _ask(command: list[str]) -> bytes:
    try:
        return subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False).stdout.strip()
    except subprocess.TimeoutExpired:
        return b""
