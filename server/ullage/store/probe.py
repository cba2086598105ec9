"""Checks a store's file before SQLite opens it for writing, so that a file of another program stays untouched.

A read-only connection to a file in WAL mode would leave `-wal` and `-shm` files. So a file without a `-wal` file is
judged by the 100 bytes of its header (https://www.sqlite.org/fileformat2.html#the_database_header). If a `-wal` file
exists, it may hold a newer header, and SQLite is asked.
"""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from ullage.model.errors import StoreTooNew
from ullage.store.failures import unavailable
from ullage.store.schema import APPLICATION_ID, VERSION

_MAGIC = b"SQLite format 3\x00"
_HEADER_SIZE = 100


class _Stamp(Struct, frozen=True, kw_only=True):
    """`schema_version` counts schema changes: 0 for a file without any table."""

    schema_version: int
    user_version: int
    application_id: int


def check_file(path: Path) -> None:
    """Raises `StoreTooNew` for the store of a newer Ullage and `StoreUnavailable` for a file that is not a store.
    Changes nothing."""
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
