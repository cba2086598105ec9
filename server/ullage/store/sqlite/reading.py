"""Opening a store to read it only: one that is missing, or that may not be written to."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ullage.store.sqlite.database import default_path
from ullage.store.sqlite.sqlite_errors import reporting
from ullage.store.sqlite.sqlite_store import SqliteStore, open_store
from ullage.store.sqlite.store_file import check_file

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
