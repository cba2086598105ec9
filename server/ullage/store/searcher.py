"""Searches from any thread on a connection of its own, so that the store's owner never waits for a search."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ullage.service.ports.store import SearchHit
from ullage.store.connection import reconnect, transaction
from ullage.store.failures import reporting, unavailable
from ullage.store.search import search_messages
from ullage.store.search_index import index_some
from ullage.store.search_query import read_query
from ullage.store.sessions import require_session


class Searcher:
    """The searching part of a `SessionStore`. Calls wait for each other; each is short."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def search(self, query: str, session_id: str | None, limit: int) -> tuple[SearchHit, ...]:
        """Implements `SessionStore.search`."""
        wanted = read_query(query)
        while self.index_some(session_id):
            pass
        with self._connected() as connection, transaction(connection, "DEFERRED"):
            if session_id is not None:
                require_session(connection, session_id)
            return search_messages(connection, wanted, session_id, limit)

    def index_some(self, session_id: str | None) -> int:
        """Implements `SessionStore.index_some`."""
        with self._connected() as connection:
            return index_some(connection, session_id)

    def close(self) -> None:
        """Closes the file once the running call has ended."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        with self._lock, reporting(self._path):
            if self._closed:
                # A search in another thread may still be indexing. It must not open the file again.
                raise unavailable(self._path, "is closed")
            if self._connection is None:
                self._connection = reconnect(self._path)
            yield self._connection
