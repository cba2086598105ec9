"""What the store's tables need of a database: both SQLite's connections and PostgreSQL's have it.

The statements in `session_table.py` and `log.py` are SQL that both understand. SQLite's placeholders (`?`) and index
hints (`INDEXED BY`) are the only parts that `postgres/text_index.py` rewrites.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""
        ...

    def fetchone(self) -> Any:
        """Returns the next row as a tuple, or None after the last one."""
        ...

    def fetchall(self) -> list[Any]:
        """Returns the remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the remaining rows."""
        ...


class Stream(Protocol):
    """The rows of a statement, one after the other."""

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the rows."""
        ...

    def close(self) -> object:
        """Ends the statement."""
        ...


class Connection(Protocol):
    """A connection to a database, with a transaction open."""

    def kept(self, value: bytes, /) -> bytes:
        """Returns a payload or a snapshot as the database is to keep it: `packed`, unless it compresses by itself."""
        ...

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        """Runs a statement with a value for each placeholder, and returns its rows."""
        ...

    def stream(self, statement: str, values: Sequence[Any], /) -> Stream:
        """Runs a statement and yields its rows as they are taken. The connection is in use until the last row is taken
        or the stream is closed."""
        ...

    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> Any:
        """Runs a statement once for each sequence of values."""
        ...


def marks(values: Sized, mark: str = "?") -> str:
    """Returns a placeholder for each of the values, separated by commas. Many values in one statement take a server
    less time than many statements."""
    return ", ".join([mark] * len(values))
