"""The catalogue: every conversation of an agent that is known on this machine, and which files were read to their end,
in `STORE.catalogue.db`.

What is in it can be read again from the agents' files, so a file that is damaged, or that another version of Ullage has
written, is replaced.
"""

import sqlite3
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.model.errors import StoreError
from ullage.model.figure import FollowedRow
from ullage.service.ports.agent_files import ReadFile
from ullage.store.sqlite.database import connected, overwrite_deleted, transaction
from ullage.store.sqlite.sqlite_errors import reporting
from ullage.store.sqlite.store_file import make_file

# The version of the tables; a catalogue with another one is made again. The columns are described in the README.
_VERSION = 2
_COLUMNS = {
    "place": "TEXT PRIMARY KEY",
    "agent": "TEXT NOT NULL",
    "agent_session_id": "TEXT NOT NULL",
    "path": "TEXT NOT NULL",
    "run": "INTEGER",
    "format": "TEXT NOT NULL",
    "cwd": "TEXT NOT NULL",
    "title": "TEXT NOT NULL",
    "parent": "TEXT NOT NULL",
    "is_side": "INTEGER NOT NULL",
    "model": "TEXT NOT NULL",
    "updated_at": "INTEGER NOT NULL",
    "messages": "INTEGER",
    "used": "INTEGER",
    "used_source": "TEXT",
    "percent": "INTEGER",
    "window": "INTEGER",
    "window_source": "TEXT",
    "compacts_at": "INTEGER",
    "compacts_at_source": "TEXT",
    "warnings": "TEXT NOT NULL",
    "stat": "TEXT NOT NULL",
    "is_whole": "INTEGER NOT NULL",
    "is_sure": "INTEGER NOT NULL",
    "reason": "TEXT NOT NULL",
    "basis": "BLOB NOT NULL",
}
_READ_FILES = (
    "CREATE TABLE read_files (path TEXT, origin_id TEXT, session_id TEXT NOT NULL, messages INTEGER NOT NULL, "
    "stat TEXT NOT NULL, ends BLOB NOT NULL, by TEXT NOT NULL, PRIMARY KEY (path, origin_id))"
)
_values_of = attrgetter(*_COLUMNS)
_WARNINGS, _STAT = list(_COLUMNS).index("warnings"), list(_COLUMNS).index("stat")


def catalogue_path(store: Path) -> Path:
    """Returns the path of the catalogue next to the store at `store`."""
    return store.with_name(f"{store.name}.catalogue.db")


class KnownConversation(FollowedRow, frozen=True, kw_only=True):
    """A conversation in an agent's file, as it was when its end was last read. It is not live, and has no session:
    whether an agent runs, and what was imported, is asked each time.

    - `place`: what names it: the path of its file, or, in a database, the path that `kept_path` makes.
    - `run`: its number in a file that holds several, counted from 1. `format`: the name of the file's format.
    - `stat`: differs whenever the file, or the row of a database, has changed.
    - `basis`: differs whenever what the figure rests on besides the file has changed: Ullage, the agent's settings,
      what it said to its status line, compactions of its other conversations.
    - `is_side`: whether it is a sub-agent's. `is_whole`: whether all of the file was read, and not only its ends.
      `is_sure`: whether a reading of the whole file would give the same. If not, what follows the last report is
      estimated by its length, or an earlier part of the file may say more of the window and the threshold.
    - `reason`: why it has no figure, in words; "" if it has one, or if its file holds none.
    """

    session_id: str = ""
    place: str
    format: str
    stat: tuple[int, int, int]
    basis: bytes = b""
    run: int | None = None
    is_side: bool = False
    is_whole: bool = False
    is_sure: bool = False
    reason: str = ""


class SqliteCatalogue:
    """The catalogue next to the store at `store`. Only the user may read it. It is made when it is first written."""

    def __init__(self, store: Path) -> None:
        self._path = catalogue_path(store)

    def read(self) -> Mapping[str, KnownConversation]:
        """Returns all conversations by their `place`; none if the catalogue is missing, damaged or of another version
        of Ullage, which might read the files differently."""
        if not self._path.exists():
            return {}
        with suppress(sqlite3.Error, OSError, ValueError), _opened(self._path) as database:
            return {row[0]: _known(row) for row in database.execute("SELECT * FROM conversations")}
        return {}

    def write(self, changed: Collection[KnownConversation], gone: Collection[str]) -> None:
        """Adds or replaces conversations, and removes those at the places `gone`. Raises `StoreUnavailable`."""
        with reporting(self._path, "catalogue"):
            make_file(self._path)
            with _opened(self._path) as database, transaction(database, "IMMEDIATE"):
                database.executemany("DELETE FROM conversations WHERE place = ?", [(place,) for place in gone])
                marks = ", ".join("?" * len(_COLUMNS))
                database.executemany(f"INSERT OR REPLACE INTO conversations VALUES ({marks})", map(_row_of, changed))

    def remove(self, path: str, agent_session_id: str) -> None:
        """Removes the conversation to which its agent gave this id, in the file at `path`, if it is there, and that the
        file was read, so that no byte of it stays in the catalogue. Raises `StoreUnavailable`."""
        if not self._path.exists():
            return
        with reporting(self._path, "catalogue"), _opened(self._path) as database:
            database.execute(
                "DELETE FROM conversations WHERE (path = ? OR ? = '') AND (agent_session_id = ? OR ? = '')",
                (path, path, agent_session_id, agent_session_id),
            )
            database.execute(
                "DELETE FROM read_files WHERE (path = ? AND origin_id IN (?, '')) OR (? = '' AND origin_id = ? != '')",
                (path, agent_session_id, path, agent_session_id),
            )
        overwrite_deleted(self._path, "catalogue", rewrite=False)


class _OldList(Struct, frozen=True):
    """What `STORE.read.json` held, where earlier versions had the list."""

    by: str
    files: tuple[ReadFile, ...]


class SqliteReadFiles:
    """The files that were read to their end, in the catalogue next to the store at `store` (see `ReadFiles`)."""

    def __init__(self, store: Path) -> None:
        self._path = catalogue_path(store)
        self._old = store.with_name(f"{store.name}.read.json")

    def read(self) -> Sequence[ReadFile]:
        """Returns the files, the first read first."""
        if self._old.exists():
            self._take_over()
        if self._path.exists():
            with suppress(sqlite3.Error, OSError, ValueError), _opened(self._path) as database:
                rows = database.execute("SELECT * FROM read_files WHERE by = ? ORDER BY rowid", (__version__,))
                return [_read_file(row) for row in rows]
        return []

    def write(self, files: Sequence[ReadFile]) -> None:
        """Replaces the list. Raises `StoreUnavailable`."""
        with reporting(self._path, "catalogue"):
            make_file(self._path)
            with _opened(self._path) as database, transaction(database, "IMMEDIATE"):
                database.execute("DELETE FROM read_files")
                database.executemany(
                    "INSERT OR REPLACE INTO read_files VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (
                            *(one.path, one.origin_id, one.session_id, one.messages),
                            *(" ".join(map(str, one.stat)), one.ends, __version__),
                        )
                        for one in files
                    ],
                )

    def _take_over(self) -> None:
        with suppress(OSError, ValueError, StoreError):
            known = msgspec.json.decode(self._old.read_bytes(), type=_OldList)
            self.write(known.files if known.by == __version__ else ())
        with suppress(OSError):
            self._old.unlink()


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    try:
        connection = connected(path, _prepare)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        # What was not a catalogue any more.
        path.unlink(missing_ok=True)
        make_file(path)
        connection = connected(path, _prepare)
    try:
        yield connection
    finally:
        connection.close()


def _prepare(database: sqlite3.Connection) -> None:
    if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        with transaction(database, "IMMEDIATE"):
            database.execute("DROP TABLE IF EXISTS conversations")
            database.execute("DROP TABLE IF EXISTS read_files")
            database.execute(_READ_FILES)
            database.execute(f"CREATE TABLE conversations ({columns}) WITHOUT ROWID")
            database.execute(f"PRAGMA user_version = {_VERSION}")


def _read_file(row: tuple[str, str, str, int, str, bytes, str]) -> ReadFile:
    """Raises `ValueError` for a row that Ullage has not written."""
    path, origin_id, session_id, messages, stat, ends, _ = row
    return ReadFile(
        path=path,
        origin_id=origin_id,
        session_id=session_id,
        messages=messages,
        stat=tuple(map(int, stat.split())),
        ends=ends,
    )


def _row_of(one: KnownConversation) -> list[object]:
    row = [*_values_of(one)]
    row[_WARNINGS], row[_STAT] = "\n".join(one.warnings), " ".join(map(str, one.stat))
    return row


def _known(row: tuple[str, ...]) -> KnownConversation:
    """Raises `ValueError` for a row that Ullage has not written."""
    known: dict[str, object] = dict(zip(_COLUMNS, row, strict=True))
    known["warnings"] = row[_WARNINGS].split("\n") if row[_WARNINGS] else ()
    known["stat"] = [*map(int, row[_STAT].split())]
    return msgspec.convert(known, KnownConversation, strict=False)
