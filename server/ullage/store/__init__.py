"""The session store: an append-only log in SQLite."""

from ullage.store.sqlite_store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
