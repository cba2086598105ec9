"""The session store: an append-only log in SQLite or PostgreSQL."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ullage.store.sqlite.sqlite_store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]


def __getattr__(name: str) -> "Any":
    # Imported on use: hooks and status lines only need what `sqlite/quick_catalogue.py` has.
    if name not in __all__:
        raise AttributeError(name)
    from ullage.store.sqlite import sqlite_store  # noqa: PLC0415

    return getattr(sqlite_store, name)
