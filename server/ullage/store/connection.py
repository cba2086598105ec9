"""The path of the store's file, connections to it, and transactions on it."""

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ullage.store.failures import BUSY_TIMEOUT
from ullage.store.probe import check_file
from ullage.store.schema import VERSION, migrate

# Conversations are private to the user. SQLite gives the -wal and -shm files the same mode.
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def default_path() -> Path:
    """Returns the path of the store in the user's data folder."""
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False) / "sessions.db"


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file and brings its tables up to date. Makes the file and its folders if they are missing.

    WAL lets other processes read while one writes. `synchronous=NORMAL` hands each commit to the operating system
    without waiting for the disk. A commit survives the death of the process; a power cut may cost the newest commits,
    whole ones, and never damages the file (https://www.sqlite.org/pragma.html#pragma_synchronous).
    """
    check_file(path)
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, _FILE_MODE))
    return _ready(path, _prepare)


def reconnect(path: Path) -> sqlite3.Connection:
    """Returns one more connection to a file that `connect` opened. Any thread may use it, one at a time."""
    return _ready(path, lambda _: None)


def _ready(path: Path, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """Returns a connection that is prepared. A failure leaves none open."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        prepare(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
        with transaction(connection, "IMMEDIATE"):
            migrate(connection)


@contextmanager
def transaction(connection: sqlite3.Connection, mode: Literal["IMMEDIATE", "DEFERRED"]) -> Generator[None]:
    """Runs a block as one transaction. IMMEDIATE takes the write lock at the start, so what the block reads stays
    true until it writes; DEFERRED gives several reads one consistent state."""
    connection.execute(f"BEGIN {mode}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
