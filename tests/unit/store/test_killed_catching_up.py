"""A program that is killed while it sends to a server what was done without it: to a SQLite file that stands for the
server, where every statement of both stores is counted, and to a real PostgreSQL."""

import sqlite3
import threading
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from support.logs import conversation, fork, message, records
from support.machines import Machine
from support.postgres_server import PostgresServer, needs_postgres
from ullage.model.events import MessageAppended, SessionRenamed
from ullage.store import open_store
from ullage.store.offline.local_copy import catch_up, open_copy
from ullage.store.store_copy import copy_store
from ullage.store.table_store import TableStore

pytestmark = pytest.mark.no_cover


class Killed(BaseException):
    """The program is killed."""


class Life:
    """A program that is killed before the statement after `left` further ones, never if that is negative."""

    left = -1

    @classmethod
    def go_on(cls) -> None:
        # Threads that listen for changes have no part in this.
        if threading.current_thread() is not threading.main_thread():
            return
        if cls.left == 0:
            raise Killed
        cls.left -= 1


class Mortal(sqlite3.Connection):
    """A connection of such a program. What is open when it is killed is rolled back, as after SIGKILL."""

    def execute(self, *args: Any) -> sqlite3.Cursor:
        Life.go_on()
        return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        Life.go_on()
        return super().executemany(*args)


class Target(ABC):
    """A server to which a program sends. `folder` contains what a machine has."""

    @abstractmethod
    def begin(self, folder: Path) -> None:
        """Makes the server as it is in the folder's `server.db`."""

    @abstractmethod
    def open(self, folder: Path) -> TableStore:
        """Opens the store at the server."""


class SqliteTarget(Target):
    def begin(self, folder: Path) -> None:
        pass

    def open(self, folder: Path) -> TableStore:
        return open_store(folder / "server.db")


class PostgresTarget(Target):
    def __init__(self, server: PostgresServer) -> None:
        self._server, self._address = server, server.new_schema()

    def begin(self, folder: Path) -> None:
        # Tests of SQLite must not import its package.
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415

        schema = self._address.rpartition("%3D")[2]
        with open_postgres(self._address) as store, open_store(folder / "server.db") as first:
            self._server.execute(f"TRUNCATE {schema}.sessions, {schema}.records, {schema}.snapshots CASCADE")
            copy_store(first, store, lambda _, __, ___: None)

    def open(self, folder: Path) -> TableStore:
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415

        return open_postgres(self._address)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Target:
    """Makes all connections mortal, and returns the server."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Mortal))
    monkeypatch.setattr(Life, "left", -1)
    if request.param == "sqlite":
        return SqliteTarget()
    import psycopg  # noqa: PLC0415

    for name in ("execute", "executemany"):
        monkeypatch.setattr(psycopg.Cursor, name, _mortal(getattr(psycopg.Cursor, name)))
    return PostgresTarget(request.getfixturevalue("postgres_server"))


def _mortal(run: Any) -> Any:
    def counted(cursor: Any, *args: Any, **named: Any) -> Any:
        try:
            Life.go_on()
        except Killed:
            # The server rolls back what a program has begun whose connection ends.
            cursor.connection.close()
            raise
        return run(cursor, *args, **named)

    return counted


@pytest.mark.long
@pytest.mark.minutes
def test_a_program_killed_before_any_statement_of_catching_up_loses_and_doubles_nothing(
    target: Target, tmp_path: Path
) -> None:
    diverged(tmp_path)
    killed, is_killed = 0, True
    while is_killed:
        folder = tmp_path / f"{killed}"
        copytree(tmp_path / "first", folder)
        target.begin(folder)
        is_killed = send(target, folder, killed)
        send(target, folder)
        require_everything(target, folder)
        rmtree(folder)
        killed += is_killed
    # The statements of both stores.
    assert killed > 100


@pytest.mark.parametrize("statements", [1, 10])
def test_a_program_that_is_killed_again_and_again_gets_through(target: Target, tmp_path: Path, statements: int) -> None:
    diverged(tmp_path)
    folder = tmp_path / "first"
    target.begin(folder)
    killed = 0
    while send(target, folder, statements * killed):
        killed += 1
    assert killed > 10
    require_everything(target, folder)


def diverged(folder: Path) -> None:
    """Makes a server, and a machine that has continued sessions, made and forked some, without it."""
    first = folder / "first"
    (first / "here").mkdir(parents=True)
    with open_store(first / "server.db") as server:
        here = Machine(first / "here", server.path)
        for name in ("grown", "parted", "gone"):
            here.store.create(name, conversation("one"))
        here.line.is_cut = True
        here.add("grown", *(message(f"g{number}") for number in range(250)))
        here.add("parted", message("p1"), SessionRenamed(title="Mine"), message("p2"))
        here.add("gone", message("x1"))
        here.store.create("forked", fork("parted", 4, message("f1")))
        here.store.create("new", conversation("n1"))
        here.store.delete("new")
        here.store.create("newer", conversation("n2"))
        server.append("parted", records(message("theirs"), start=2))
        server.delete("gone")
        here.close()


def send(target: Target, folder: Path, statements: int = -1) -> bool:
    """Catches up. Returns whether the program was killed after so many statements."""
    with target.open(folder) as server, open_copy(folder / "here" / "copy.db") as local:
        Life.left = statements
        try:
            catch_up(local, server)
        except Killed:
            return True
        finally:
            Life.left = -1
    return False


def texts(store: Any, session_id: str) -> list[str]:
    """Returns the ids of a session's messages."""
    return [r.event.message.id for r in store.read(session_id) if isinstance(r.event, MessageAppended)]


def require_everything(target: Target, folder: Path) -> None:
    with target.open(folder) as server, open_copy(folder / "here" / "copy.db") as local:
        logs = sorted(texts(server, name) for name in server.find_ids(""))
        assert logs == sorted(
            [
                ["m0", *(f"g{number}" for number in range(250))],
                ["m0", "theirs"],
                ["m0", "p1", "p2"],
                ["m0", "p1", "p2", "f1"],
                ["m0", "x1"],
                ["m0"],
            ]
        )
        assert local.unsent() == ()
