"""Both stores, so that the same tests check `SessionStore`'s contract for the real one and its twin."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.memory_store import MemoryStore
from ullage.service.ports.store import SessionStore
from ullage.store import SqliteStore, open_store


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "sessions.db") as store:
        yield store


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, sqlite_store: SqliteStore) -> SessionStore:
    return sqlite_store if request.param == "sqlite" else MemoryStore()
