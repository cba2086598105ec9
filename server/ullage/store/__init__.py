"""The session store: an append-only log in SQLite or PostgreSQL."""

from ullage.store.sqlite.sqlite_store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
