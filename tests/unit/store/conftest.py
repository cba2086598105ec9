"""Both implementations of each port, so that the same tests check the port's contract for both."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from support.memory_store import MemoryStore
from support.postgres_server import needs_postgres
from ullage.service.ports.store import SessionStore
from ullage.store import SqliteStore, open_store
from ullage.store.memories.memory_files import DescriptorFolder, FolderMemory, PathFolder, is_supported
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres

by_descriptor = pytest.param(
    DescriptorFolder.open,
    id="descriptor",
    marks=pytest.mark.skipif(not is_supported(), reason="the system opens no name relative to an open folder"),
)


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "sessions.db") as store:
        yield store


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres), "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[SessionStore]:
    match request.param:
        case "sqlite":
            yield request.getfixturevalue("sqlite_store")
        case "postgres":
            with open_postgres(request.getfixturevalue("postgres_address")) as store:
                yield store
        case _:
            yield MemoryStore()


@pytest.fixture
def postgres(postgres_address: str) -> Iterator[PostgresStore]:
    with open_postgres(postgres_address) as store:
        yield store


@pytest.fixture(params=[by_descriptor, pytest.param(PathFolder.open, id="path")])
def memory(request: pytest.FixtureRequest) -> Callable[..., FolderMemory]:
    """Makes a `FolderMemory`, whose folders are opened by descriptor or by path."""
    return partial(FolderMemory, open_base=request.param)
