"""The SQLite connections that are open, so that a test that leaves one open fails on every version of Python.

Python 3.13 warns of a connection that is collected unclosed, in whatever test runs at that moment; 3.11 says nothing.
"""

import sqlite3
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ullage.cli.main import main

_open: "dict[int, _Watched]" = {}


class _Watched(sqlite3.Connection):
    """A connection that is listed until it is closed."""

    def __init__(self, database: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(database, *args, **kwargs)
        self.path = str(database)
        _open[id(self)] = self

    def close(self) -> None:
        super().close()
        _open.pop(id(self), None)


def watch_databases() -> None:
    """Lists every connection that is made from now on, in this process."""
    connect = sqlite3.connect

    def watched(database: Any, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        return connect(database, *args, **{"factory": _Watched, **kwargs})

    sqlite3.connect = watched


def connections_to(path: Path) -> list[sqlite3.Connection]:
    """Returns the open connections to a file that `watch_databases` has listed."""
    return [connection for connection in _open.values() if connection.path == str(path)]


@contextmanager
def closed_databases() -> Generator[None]:
    """Raises `AssertionError` at the end of the block if a connection made in it is open, and closes that."""
    before = set(_open)
    yield
    left = [connection for key, connection in tuple(_open.items()) if key not in before]
    for connection in left:
        connection.close()
    assert not left, f"left open: {', '.join(sorted(connection.path for connection in left))}"


def _run(arguments: Sequence[str]) -> int:
    """Runs a command of Ullage in this process. Raises `AssertionError` if it leaves a connection open."""
    watch_databases()
    with closed_databases():
        return main(arguments)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
