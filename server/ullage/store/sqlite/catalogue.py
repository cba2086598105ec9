"""The catalogue, `STORE.catalogue.db`: every conversation of an agent that is known on this machine, what is followed
now, which files were read and how far; what the user has answered and has Ullage forget, what agents said to their
status lines, and what hooks gave back. `quick_catalogue.py` writes what hooks and status lines write.

What can be read again from the agents' files is made again where another version of Ullage has written it. What agents
and users have said (`NOTES_TABLES`) is kept. A file that is damaged is replaced.

Earlier versions of Ullage had the same in other files next to the store. They are taken over and removed whenever the
catalogue is opened and one of them is there: an earlier version may still run."""

import shutil
import sqlite3
import time
import weakref
import zlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.agents.discovery import DATABASES, kept_path
from ullage.agents.table import compact_command, short_name
from ullage.bounds import OWN_FILE, read_plain
from ullage.host.side_files import CATALOGUE, beside
from ullage.model.errors import StoreError
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.usage import FollowedRow, LiveSessions, RateLimit
from ullage.model.usage_report import rate_limits_of
from ullage.policy.spending import PaidRequest
from ullage.service.ports.agent_files import FoundFile, GivenBack, KeptReading, ReadFile, ToldWindow
from ullage.store.sqlite.database import connected, make_file, overwrite_deleted, reporting, transaction
from ullage.store.sqlite.quick_catalogue import QUICK_TABLES, add_receipt_to

# The tables that are kept when a catalogue of another version is made again; see the README.
NOTES_TABLES = (
    *QUICK_TABLES,
    "CREATE TABLE IF NOT EXISTS forgotten (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL, at INTEGER NOT NULL) "
    "WITHOUT ROWID",
)
_FORGOTTEN, _KEEPING, _TOLD, _GIVEN = ".forgotten.json", ".keeping.json", ".statusline", ".given"
# What the last two held is read again.
_OLD = (_FORGOTTEN, _KEEPING, _TOLD, _GIVEN, ".readings", ".read.json")


class _Forgotten(Struct, frozen=True):
    times: dict[str, int]


class _Keeping(Struct, frozen=True):
    keep: bool
    at: int


class _Window(Struct, frozen=True):
    context_window_size: int | None = None


class _Said(Struct, frozen=True):
    context_window: _Window | None = None


def has_old(store: Path) -> bool:
    """Returns whether one of the files is next to the store at `store`."""
    return any(beside(store, name).exists() for name in _OLD)


def take_over(store: Path, catalogue: sqlite3.Connection) -> None:
    """Takes the files over into the catalogue, as far as they can be read, and removes them. What the catalogue has
    already is newer. Raises `sqlite3.Error`."""
    with transaction(catalogue, "IMMEDIATE"):
        with suppress(OSError, OverflowError, msgspec.MsgspecError):
            known = msgspec.json.decode(read_plain(beside(store, _FORGOTTEN), OWN_FILE), type=_Forgotten)
            catalogue.executemany("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", known.times.items())
        with suppress(OSError, OverflowError, msgspec.MsgspecError):
            answer = msgspec.json.decode(read_plain(beside(store, _KEEPING), OWN_FILE), type=_Keeping)
            catalogue.execute("INSERT OR IGNORE INTO facts VALUES ('keep', ?, ?)", (int(answer.keep), answer.at))
        for file in _files(beside(store, _TOLD), ".json"):
            with suppress(OSError, OverflowError, msgspec.MsgspecError):
                said, at = read_plain(file, OWN_FILE), file.stat().st_mtime_ns // 1_000_000
                window = msgspec.json.decode(said, type=_Said).context_window
                size = window and window.context_window_size
                row = file.stem, at, size if size and size > 0 else None, said
                catalogue.execute("INSERT OR IGNORE INTO told VALUES (?, ?, ?, ?)", row)
        for file in _files(beside(store, _GIVEN), ".jsonl"):
            held = "SELECT 1 FROM receipts WHERE agent_session_id = ? AND receipt = ?"
            for line in read_plain(file, OWN_FILE).splitlines():
                with suppress(OverflowError, msgspec.MsgspecError):
                    at = msgspec.json.decode(line, type=GivenBack).at
                    # Another process may take them over at the same time.
                    if not catalogue.execute(held, (file.stem, line)).fetchone():
                        add_receipt_to(catalogue, file.stem, at, line)
    for name in _OLD:
        old = beside(store, name)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            with suppress(OSError):
                old.unlink()


def _files(folder: Path, ending: str) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(file for file in folder.iterdir() if file.name.endswith(ending) and file.is_file())


# The version of the tables; a catalogue with another one is made again. The columns are described in the README.
_VERSION = 6
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
    "forked_from": "TEXT NOT NULL",
    "begins": "TEXT NOT NULL",
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
    "session_id": "TEXT NOT NULL",
    "live": "INTEGER NOT NULL",
    "process_id": "INTEGER",
    "calls_left": "TEXT",
    "idle": "TEXT",
    "cache": "TEXT",
    "moment": "TEXT",
    "rate_limits": "TEXT",
    "nearness": "TEXT",
    "forks": "TEXT",
    "follower": "INTEGER NOT NULL",
}
_READ_FILES = (
    "CREATE TABLE read_files (path TEXT, origin_id TEXT, session_id TEXT NOT NULL, messages INTEGER NOT NULL, "
    "stat TEXT NOT NULL, ends BLOB NOT NULL, by TEXT NOT NULL, PRIMARY KEY (path, origin_id))"
)
_READINGS = (
    "CREATE TABLE readings (path TEXT, origin_id TEXT, by TEXT NOT NULL, at INTEGER NOT NULL, reading BLOB NOT NULL, "
    "PRIMARY KEY (path, origin_id))"
)
_COSTS = (
    "CREATE TABLE costs (place TEXT PRIMARY KEY, stat TEXT NOT NULL, by TEXT NOT NULL, requests BLOB NOT NULL) "
    "WITHOUT ROWID"
)
# The tables besides `conversations` that are made again.
_READ_AGAIN = {"read_files": _READ_FILES, "readings": _READINGS, "costs": _COSTS}
_values_of = attrgetter(*_COLUMNS)
_NAMES = [*_COLUMNS]
_AGENT, _WARNINGS, _STAT = map(_NAMES.index, ("agent", "warnings", "stat"))
# Columns with JSON.
_JSON = [_NAMES.index(name) for name in ("calls_left", "idle", "cache", "moment", "rate_limits", "nearness", "forks")]
# What only a listing knows of a conversation, and what of that holds whatever the process that follows writes.
_LISTED = ("format", "run", "forked_from", "begins", "is_side", "basis", "stat")
_MARKS = ", ".join("?" * len(_COLUMNS))
_INSERT = f"INSERT INTO conversations VALUES ({_MARKS}) ON CONFLICT (place) DO UPDATE SET "
_UPSERT_FOLLOWED = _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in _LISTED)
_UPSERT_LISTED = (
    _INSERT + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS) + " WHERE follower = 0 OR follower != ?"
)
_SET = ("format", "run", "forked_from", "begins", "is_side", "place")
_UPDATE_LISTED = f"UPDATE conversations SET {' = ?, '.join(_SET[:-1])} = ? WHERE place = ? AND follower = ?"
_FOLLOWER = "follower"


class KnownConversation(FollowedRow, frozen=True, kw_only=True):
    """A conversation in an agent's file, as it was when its end was last read, or as the process that follows it shows
    it. Whether an agent runs, and what was imported, is asked each time.

    - `place`: what names it: the path of its file, or, in a database, the path that `kept_path` makes.
    - `run`: its number in a file that holds several, counted from 1. `format`: the name of the file's format; "" until
      the conversation is listed.
    - `stat`: differs whenever the file, or the row of a database, has changed.
    - `basis`: differs whenever what the figure rests on besides the file has changed: Ullage, the agent's settings,
      what it said to its status line, compactions of its other conversations.
    - `forked_from`: the agent's own id of the conversation that it is a fork of. `begins`: the time and the text of the
      first prompt; a conversation that was resumed in another file begins with the same.
    - `is_side`: whether it is a sub-agent's. `is_whole`: whether all of the file was read, and not only its ends.
      `is_sure`: whether a reading of the whole file would give the same. If not, what follows the last report is
      estimated by its length, or an earlier part of the file may say more of the window and the threshold.
    - `reason`: why it has no figure, in words; "" if it has one, or if its file holds none.
    - `follower`: the process that followed it last, 0 if none has since its file was last read for a list.
      `session_id`, `live`, `process_id`, `moment` and `nearness` are what that process has written.
    """

    session_id: str = ""
    place: str
    format: str
    stat: tuple[int, int, int]
    basis: bytes = b""
    run: int | None = None
    forked_from: str = ""
    begins: str = ""
    is_side: bool = False
    is_whole: bool = False
    is_sure: bool = False
    reason: str = ""
    follower: int = 0


class CatalogueFile:
    """The file of the catalogue next to the store at `store`. Only the user may read it. It is made when it is first
    written, or when there is something to take over from an earlier version."""

    def __init__(self, store: Path) -> None:
        self.path = beside(store, CATALOGUE)
        self.store = store
        self._watched: sqlite3.Connection | None = None
        # The file of that connection, and its version when it was last seen.
        self._identity: tuple[int, int] | None = None
        self._version = -1

    @contextmanager
    def to_read(self) -> Generator[sqlite3.Connection | None]:
        """Opens the catalogue to read it; None if there is none. Raises `sqlite3.Error` and `OSError`."""
        if not self.path.exists():
            if not has_old(self.store):
                yield None
                return
            make_file(self.path)
        with closing(self._open()) as catalogue:
            yield catalogue

    @contextmanager
    def to_write(self) -> Generator[sqlite3.Connection]:
        """Opens the catalogue for a transaction that writes. Raises `StoreUnavailable`."""
        with reporting(self.path, "catalogue"):
            make_file(self.path)
            with closing(self._open()) as catalogue, transaction(catalogue, "IMMEDIATE"):
                yield catalogue

    def select(self, statement: str, *given: object) -> list[Any]:
        """Returns the rows that a statement finds; none if the catalogue is missing or can't be read."""
        with suppress(sqlite3.Error, OSError), self.to_read() as catalogue:
            return catalogue.execute(statement, given).fetchall() if catalogue else []
        return []

    def changed(self) -> sqlite3.Connection | None:
        """Returns a connection that stays open if the catalogue may have changed since the last call; None otherwise,
        and if there is none. Takes microseconds. Raises `sqlite3.Error` and `OSError`."""
        try:
            status = self.path.stat()
        except OSError:
            if not has_old(self.store):
                return None
            make_file(self.path)
            status = self.path.stat()
        identity = status.st_dev, status.st_ino
        if self._watched is None or identity != self._identity:
            self.close()
            self._watched, self._identity, self._version = self._open(), identity, -1
            # Who asks once need not close it.
            weakref.finalize(self, self._watched.close)
        (version,) = self._watched.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return None
        self._version = version
        return self._watched

    def close(self) -> None:
        """Closes the connection that `changed` keeps open."""
        if self._watched is not None:
            self._watched.close()
            self._watched = None

    def _open(self) -> sqlite3.Connection:
        try:
            catalogue = connected(self.path, _prepare)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            # What was not a catalogue any more. The log of that file would be applied to the new one.
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            make_file(self.path)
            catalogue = connected(self.path, _prepare)
        if has_old(self.store):
            take_over(self.store, catalogue)
        return catalogue


class InCatalogue:
    """A part of the catalogue next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._file = CatalogueFile(store)

    def close(self) -> None:
        """Closes what is kept open to notice changes."""
        self._file.close()


class SqliteCatalogue(InCatalogue):
    """The conversations in the catalogue."""

    def read(self) -> Mapping[str, KnownConversation]:
        """Returns all conversations by their `place`; none if the catalogue is missing, damaged or of another version
        of Ullage, which might read the files differently."""
        with suppress(ValueError):
            return {row[0]: _conversation_of_row(row) for row in self._file.select("SELECT * FROM conversations")}
        return {}

    def write(self, listed: Collection[KnownConversation], gone: Collection[str], follower: int = 0) -> None:
        """Adds or replaces conversations that were listed, and removes those at the places `gone`. Of those that the
        running process `follower` follows, what it has written stays. Raises `StoreUnavailable`."""
        with self._file.to_write() as catalogue:
            delete = "DELETE FROM conversations WHERE place = ? AND (follower = 0 OR follower != ?)"
            catalogue.executemany(delete, [(place, follower) for place in gone])
            catalogue.executemany(_UPSERT_LISTED, [(*_row_of(one), follower) for one in listed])
            catalogue.executemany(
                _UPDATE_LISTED,
                [(*(getattr(one, name) for name in _SET), follower) for one in listed] if follower else (),
            )

    def files_of(self, path: str, agent_session_id: str) -> list[str]:
        """Returns the path of a conversation's file, then of its others: a file may have several names, and some agents
        write another file when a conversation is resumed."""
        of_agent = "agent IN (SELECT agent FROM conversations WHERE path = ?)"
        select = f"SELECT path FROM conversations WHERE {of_agent} AND agent_session_id = ? AND agent_session_id != ''"
        return [*dict.fromkeys([path, *(one for (one,) in self._file.select(select, path, agent_session_id))])]

    def remove(self, path: str, agent_session_id: str) -> None:
        """Removes all that there is of the conversation to which its agent gave this id, in the file at `path`, but
        that it is to be forgotten, so that no byte of it stays in the catalogue. Raises `StoreUnavailable`."""
        if not self._file.path.exists() and not has_old(self._file.store):
            return
        with self._file.to_write() as catalogue:
            catalogue.execute(
                "DELETE FROM conversations WHERE (path = ? OR ? = '') AND (agent_session_id = ? OR ? = '')",
                (path, path, agent_session_id, agent_session_id),
            )
            places = path, kept_path(path, agent_session_id)
            catalogue.execute("DELETE FROM costs WHERE place IN (?, ?) AND place != ''", places)
            it = "(path = ? AND origin_id IN (?, '')) OR (? = '' AND origin_id = ? != '')"
            for table in ("read_files", "readings"):
                catalogue.execute(
                    f"DELETE FROM {table} WHERE {it}",
                    (path, agent_session_id, path, agent_session_id),
                )
            for table in ("told", "receipts"):
                catalogue.execute(f"DELETE FROM {table} WHERE agent_session_id = ?", (agent_session_id,))
        # What an SQLite without `secure_delete` has left may be anywhere in the file.
        overwrite_deleted(self._file.path, "catalogue", rewrite=True)


class FollowedNow(InCatalogue):
    """What a process follows now. For one thread."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        # What this process has written, by its place.
        self._written: dict[str, FollowedRow] = {}

    def write(self, shown: LiveSessions) -> None:
        """Replaces what is followed. Raises `StoreUnavailable`; what was followed before is then kept."""
        with self._file.to_write() as catalogue:
            forgotten: dict[str, int] = dict(catalogue.execute("SELECT key, at FROM forgotten"))
            # One that was just forgotten is still followed until that is noticed.
            rows = {
                _place_of(row): row
                for row in shown.sessions
                if row.updated_at > forgotten.get(forgotten_key(row.path, row.agent_session_id), -1)
            }
            held = catalogue.execute("SELECT place FROM conversations WHERE follower != 0").fetchall()
            left = [one for one in held if one[0] not in rows]
            catalogue.executemany("UPDATE conversations SET follower = 0, live = 0 WHERE place = ?", left)
            # Another process may have made another catalogue meanwhile.
            known = {place: self._written.get(place) for (place,) in held}
            changed = [(place, row) for place, row in rows.items() if known.get(place) != row]
            new = [_row_of(_followed(place, row, shown.follower)) for place, row in changed]
            catalogue.executemany(_UPSERT_FOLLOWED, new)
            catalogue.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (_FOLLOWER, shown.follower, shown.at))
        self._written = rows

    def read(self) -> LiveSessions | None:
        """Returns what is followed. Returns None if it has not changed since the last call, or can't be read."""
        with suppress(sqlite3.Error, OSError, ValueError):
            if catalogue := self._file.changed():
                fact = catalogue.execute("SELECT value, at FROM facts WHERE name = ?", (_FOLLOWER,)).fetchone()
                if fact:
                    select = "SELECT * FROM conversations WHERE follower != 0 AND follower = ? ORDER BY updated_at DESC"
                    rows = tuple(as_followed(_conversation_of_row(row)) for row in catalogue.execute(select, fact[:1]))
                    return LiveSessions(at=fact[1], follower=fact[0], sessions=rows)
        return None


def forgotten_key(path: str, origin_id: str) -> str:
    """Returns the name of a conversation that is to be forgotten. `path` is its file's or database's."""
    return f"{path}\n{origin_id}" if path.endswith(DATABASES) else path


def as_followed(one: KnownConversation) -> FollowedRow:
    """Returns what every list shows of a conversation."""
    return FollowedRow(**{name: getattr(one, name) for name in FollowedRow.__struct_fields__})


def _place_of(row: FollowedRow) -> str:
    # In a database, an id that is no name makes no path.
    return kept_path(row.path, row.agent_session_id) or f"{row.path}\n{row.agent_session_id}"


def _followed(place: str, row: FollowedRow, follower: int) -> KnownConversation:
    fields = {name: getattr(row, name) for name in FollowedRow.__struct_fields__}
    return KnownConversation(
        **fields, place=place, format="", stat=(0, 0, 0), is_whole=True, is_sure=True, follower=follower
    )


class SqliteReadFiles(InCatalogue):
    """The files that were read to their end (see `ReadFiles`)."""

    def read(self) -> Sequence[ReadFile]:
        """Returns the files, the first read first."""
        select = "SELECT * FROM read_files WHERE by = ? ORDER BY rowid"
        with suppress(ValueError):
            return [_read_file(row) for row in self._file.select(select, __version__)]
        return []

    def write(self, files: Sequence[ReadFile]) -> None:
        """Replaces the list. Raises `StoreUnavailable`."""
        with self._file.to_write() as catalogue:
            catalogue.execute("DELETE FROM read_files")
            catalogue.executemany(
                "INSERT OR REPLACE INTO read_files VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(one.path, one.origin_id, one.session_id, one.messages),
                        *(" ".join(map(str, one.stat)), one.ends, __version__),
                    )
                    for one in files
                ],
            )


def _prepare(database: sqlite3.Connection) -> None:
    if database.execute("PRAGMA user_version").fetchone() != (_VERSION,):
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        with transaction(database, "IMMEDIATE"):
            database.execute("DROP TABLE IF EXISTS conversations")
            for table in _READ_AGAIN:
                database.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in (*_READ_AGAIN.values(), *NOTES_TABLES):
                database.execute(statement)
            database.execute(f"CREATE TABLE conversations ({columns}) WITHOUT ROWID")
            database.execute("CREATE INDEX followed ON conversations (follower) WHERE follower != 0")
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
    for place in _JSON:
        if row[place] is not None:
            row[place] = msgspec.json.encode(row[place]).decode()
    return row


def _conversation_of_row(row: tuple[Any, ...]) -> KnownConversation:
    """Raises `ValueError` for a row that Ullage has not written."""
    known: dict[str, object] = dict(zip(_COLUMNS, row, strict=True))
    known["warnings"] = row[_WARNINGS].split("\n") if row[_WARNINGS] else ()
    known["stat"] = [*map(int, row[_STAT].split())]
    for place in _JSON:
        if row[place] is not None:
            known[_NAMES[place]] = msgspec.json.decode(row[place])
    agent = row[_AGENT]
    command, takes_focus = compact_command(agent)
    known |= {"agent_short": short_name(agent), "compact_command": command, "takes_focus": takes_focus}
    return msgspec.convert(known, KnownConversation, strict=False)


# Readings that are kept, and bytes of them. A reading takes up to a third of its file, and only the files that continue
# need theirs: a user has few of these at once.
_MOST_READINGS, _READINGS_BYTES = 200, 64 << 20
# Conversations in the list. Those that would be read again because they are not in it were forgotten first.
_MOST_FORGOTTEN = 5_000
_KEEP = "keep"
# Milliseconds for which it is known what the user was told.
_TOLD_KEPT = 30 * 86_400_000


class SqliteReadings(InCatalogue):
    """How far large files were read (see `KeptReadings`)."""

    def read(self, found: FoundFile) -> KeptReading | None:
        select = "SELECT reading FROM readings WHERE path = ? AND origin_id = ? AND by = ?"
        with suppress(msgspec.DecodeError):
            for (data,) in self._file.select(select, str(found.path), found.origin_id, __version__):
                return msgspec.msgpack.decode(data, type=KeptReading)
        return None

    def write(self, reading: KeptReading) -> None:
        """Keeps a reading as `KeptReadings.write`, unless it has no room by itself. Raises `StoreUnavailable`."""
        data = msgspec.msgpack.encode(reading)
        if len(data) > _READINGS_BYTES:
            return
        with self._file.to_write() as catalogue:
            insert = "INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?, ?)"
            catalogue.execute(insert, (reading.path, reading.origin_id, __version__, time.time_ns(), data))
            room, number = _READINGS_BYTES, 0
            select = "SELECT path, origin_id, length(reading) FROM readings ORDER BY at DESC"
            for path, origin_id, size in catalogue.execute(select).fetchall():
                room, number = room - size, number + 1
                if room < 0 or number > _MOST_READINGS:
                    catalogue.execute("DELETE FROM readings WHERE path = ? AND origin_id = ?", (path, origin_id))


class SqliteTold(InCatalogue):
    """What agents have said to their status lines (see `ReadToldWindow`). Methods may be called from any thread."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self._lock = Lock()
        self._catalogue: sqlite3.Connection | None = None
        self._windows: dict[str, ToldWindow | None] = {}
        self._said: dict[str, JsonObject] = {}

    def __call__(self, origin_id: str) -> ToldWindow | None:
        """Returns the window of the conversation with this id of its agent. Returns None if the agent has not said it.
        Takes microseconds if the catalogue has not changed."""
        return self.windows().get(origin_id)

    def windows(self) -> Mapping[str, ToldWindow | None]:
        """Returns the windows by the agents' own ids of the conversations of which they have said anything, as they are
        now."""
        with self._lock, suppress(sqlite3.Error, OSError):
            self._look()
        return self._windows

    def rate_limits(self, origin_id: str) -> tuple[RateLimit, ...]:
        """Returns what the agent said last of the limits of the user's subscription in the conversation with this id of
        its agent. Takes microseconds if the catalogue has not changed."""
        limits = rate_limits_of(self._said_of(origin_id))
        return tuple(RateLimit(name=name, percent=percent, until=until) for name, percent, until in limits)

    def model(self, origin_id: str) -> str:
        """Returns the model that the agent said last in the conversation with this id of its agent, "" if none."""
        return as_text(as_object(self._said_of(origin_id).get("model")).get("id"))

    def _said_of(self, origin_id: str) -> JsonObject:
        with self._lock, suppress(sqlite3.Error, OSError):
            catalogue = self._look()
            if catalogue and origin_id not in self._said:
                select = "SELECT said FROM told WHERE agent_session_id = ?"
                row = catalogue.execute(select, (origin_id,)).fetchone()
                self._said[origin_id] = _json_object(row[0]) if row else {}
        return self._said.get(origin_id, {})

    def _look(self) -> sqlite3.Connection | None:
        if catalogue := self._file.changed():
            self._catalogue, self._said = catalogue, {}
            told = catalogue.execute("SELECT agent_session_id, window, at FROM told")
            self._windows = {name: ToldWindow(size=size, at=at) if size else None for name, size, at in told}
        return self._catalogue


def _json_object(said: bytes) -> JsonObject:
    try:
        return as_object(msgspec.json.decode(said))
    except (msgspec.DecodeError, RecursionError):
        return {}


class Receipts(InCatalogue):
    """What hooks gave back."""

    def __call__(self, agent_session_id: str, /) -> tuple[GivenBack, ...]:
        """Returns those of the session with this id of its agent, the oldest first. What can't be read is left out."""
        select = "SELECT receipt FROM receipts WHERE agent_session_id = ? ORDER BY receipt_id"
        rows = self._file.select(select, agent_session_id) if agent_session_id else ()
        return tuple(receipt for (data,) in rows if (receipt := _receipt(data)) is not None)


def _receipt(data: bytes) -> GivenBack | None:
    try:
        return msgspec.json.decode(data, type=GivenBack)
    except msgspec.MsgspecError:
        return None


_CostParts = tuple[tuple[bool, tuple[PaidRequest, ...]], ...]


class ReadCosts(InCatalogue):
    """What the requests of conversations cost by the list `prices`, as far as their files were read for it."""

    def __init__(self, store: Path, prices: str) -> None:
        super().__init__(store)
        self._by = f"{__version__} {prices}"

    def read(self, places: Collection[str]) -> Mapping[str, tuple[tuple[int, ...], _CostParts]]:
        """Returns the conversations at these places: the `stat` of the file when it was read, and the requests of each
        of its conversations, which may be a sub-agent's."""
        with suppress(sqlite3.Error, OSError, ValueError, zlib.error), self._file.to_read() as catalogue:
            select = "SELECT place, stat, requests FROM costs WHERE by = ?"
            rows = catalogue.execute(select, (self._by,)) if catalogue else ()
            return {
                place: (tuple(map(int, stat.split())), msgspec.msgpack.decode(zlib.decompress(data), type=_CostParts))
                for place, stat, data in rows
                if place in places
            }
        return {}

    def write(self, place: str, stat: tuple[int, ...], parts: _CostParts) -> None:
        """Notes what a file cost. Without it, the file is read again the next time."""
        data = zlib.compress(msgspec.msgpack.encode(parts), 1)
        with suppress(StoreError), self._file.to_write() as catalogue:
            row = place, " ".join(map(str, stat)), self._by, data
            catalogue.execute("INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?)", row)


class ToldOnce(InCatalogue):
    """What the user was told already."""

    def __call__(self, key: str) -> bool:
        """Returns whether nobody has asked for this key in 30 days. If the catalogue can't be written, returns True."""
        now = time.time_ns() // 1_000_000
        with suppress(StoreError), self._file.to_write() as catalogue:
            catalogue.execute("DELETE FROM facts WHERE name LIKE 'told %' AND at < ?", (now - _TOLD_KEPT,))
            # A digest, so that nothing of a conversation that is to be forgotten stays.
            name = f"told {sha256(key.encode()).hexdigest()[:32]}"
            return catalogue.execute("INSERT OR IGNORE INTO facts VALUES (?, 1, ?)", (name, now)).rowcount == 1
        return True


class Keeping(InCatalogue):
    """Whether the user wants agents' files kept in the archive next to the store at `store`, which is asked once."""

    @property
    def wanted(self) -> bool | None:
        """Whether the user wants files kept; None before the first answer."""
        rows = self._file.select("SELECT value FROM facts WHERE name = ?", _KEEP)
        return bool(rows[0][0]) if rows else None

    def answer(self, *, keep: bool) -> None:
        """Notes the answer, which a process that follows reads at its next start. Raises `StoreUnavailable`."""
        with self._file.to_write() as catalogue:
            at = time.time_ns() // 1_000_000
            catalogue.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (_KEEP, int(keep), at))


class ForgottenList(InCatalogue):
    """The conversations that the user has Ullage forget: their files are not read again until they change. It has no
    text of them."""

    def read(self) -> Mapping[str, int]:
        """Returns the times at which conversations were forgotten, in Unix milliseconds, by `forgotten_key`."""
        return dict(self._file.select("SELECT key, at FROM forgotten"))

    def add(self, path: str, origin_id: str, at: int) -> None:
        """Adds a conversation. Raises `StoreUnavailable`."""
        with self._file.to_write() as catalogue:
            catalogue.execute("INSERT OR REPLACE INTO forgotten VALUES (?, ?)", (forgotten_key(path, origin_id), at))
            oldest = "SELECT key FROM forgotten ORDER BY at DESC LIMIT -1 OFFSET ?"
            catalogue.execute(f"DELETE FROM forgotten WHERE key IN ({oldest})", (_MOST_FORGOTTEN,))
