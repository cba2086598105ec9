"""The archive's file: its tables, and connections to it.

It is a file of its own next to the session store. So the store stays small and quick to copy, the archive's writes
never wait for the store's, the room that a prune frees goes back to the disk without rewriting the store, and damage to
one of them leaves the other whole.
"""

import sqlite3
from pathlib import Path

from ullage.store.sqlite.database import connected, make_file, transaction

# "ullo": distinguishes an archive from any other SQLite file.
_APPLICATION_ID = 0x756C6C6F

# A version is a list of runs: parts of blocks, one after the other. `runs.shape` says how the bytes of the file are
# made from the block's (`packed_blocks.py`). A block whose `data` is NULL is not compressed yet; its bytes are in
# `loose`.
# `pruned` has files that an earlier version has removed: they are not kept again until they change.
# `pieces` finds the place of a piece that is stored already, by 12 bytes of its hash.
_TABLES = (
    """
    CREATE TABLE originals (
        original_id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        origin_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        block_id INTEGER
    )
    """,
    "CREATE INDEX owners ON originals (owner) WHERE owner != ''",
    "CREATE INDEX origins ON originals (origin_id)",
    """
    CREATE TABLE versions (
        version_id INTEGER PRIMARY KEY,
        original_id INTEGER NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        mark BLOB NOT NULL DEFAULT x'',
        stat TEXT NOT NULL DEFAULT '',
        digest BLOB NOT NULL DEFAULT x'',
        checked INTEGER NOT NULL DEFAULT 0,
        session BLOB NOT NULL,
        parent BLOB NOT NULL DEFAULT x'',
        began_at INTEGER NOT NULL,
        kept_at INTEGER NOT NULL
    )
    """,
    "CREATE INDEX versions_of ON versions (original_id)",
    """
    CREATE TABLE runs (
        version_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        block_id INTEGER NOT NULL,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL,
        shape INTEGER NOT NULL,
        PRIMARY KEY (version_id, number)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX runs_of ON runs (block_id)",
    """
    CREATE TABLE blocks (
        block_id INTEGER PRIMARY KEY,
        original_id INTEGER NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        codec INTEGER NOT NULL DEFAULT 0,
        data BLOB
    )
    """,
    "CREATE INDEX open_blocks ON blocks (block_id) WHERE data IS NULL",
    "CREATE INDEX blocks_of ON blocks (original_id)",
    "CREATE TABLE loose (loose_id INTEGER PRIMARY KEY, block_id INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE INDEX loose_of ON loose (block_id)",
    "CREATE TABLE pieces (hash BLOB PRIMARY KEY, block_id INTEGER NOT NULL, start INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, original_id INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE pruned (path TEXT PRIMARY KEY, stat TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    "PRAGMA user_version = 1",
)


def archive_path(store: Path) -> Path:
    """Returns the path of the archive that belongs to a session store."""
    return store.with_name(f"{store.name}.archive")


def connect(path: Path) -> sqlite3.Connection:
    """Opens an archive and returns a connection, which any thread may use, one at a time. Makes the file and its
    folders if they are missing. Raises `sqlite3.Error` and `OSError`."""
    make_file(path)
    # Only works before the first table is made.
    return connected(path, _make_tables, "PRAGMA auto_vacuum = INCREMENTAL")


def _make_tables(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone() != (0,):
        return
    with transaction(connection, "IMMEDIATE"):
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            for statement in _TABLES:
                connection.execute(statement)
