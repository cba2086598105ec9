"""What the catalogue holds besides conversations: what the user has answered and has Ullage forget, what agents said to
their status lines, what hooks gave back, and how far large files were read.

`quick_catalogue.py` writes what hooks and status lines write.
"""

import sqlite3
import time
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock

import msgspec

from ullage import __version__
from ullage.model.errors import StoreError
from ullage.model.json_values import as_object
from ullage.model.usage import RateLimit
from ullage.model.usage_report import rate_limits_of
from ullage.policy.spending import PaidRequest
from ullage.service.ports.agent_files import FoundFile, GivenBack, KeptReading
from ullage.store.sqlite.catalogue import InCatalogue, forgotten_key

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
        """Returns the reading of a file, as `KeptReadings.read` describes."""
        select = "SELECT reading FROM readings WHERE path = ? AND origin_id = ? AND by = ?"
        with suppress(msgspec.DecodeError):
            for (data,) in self._file.select(select, str(found.path), found.origin_id, __version__):
                return msgspec.msgpack.decode(data, type=KeptReading)
        return None

    def write(self, reading: KeptReading) -> None:
        """Keeps a reading, as `KeptReadings.write` describes; one that has no room by itself is not kept. Raises
        `StoreUnavailable`."""
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
    """What agents have said to their status lines (see `ToldWindow`). Methods may be called from any thread."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self._lock = Lock()
        self._catalogue: sqlite3.Connection | None = None
        self._windows: dict[str, int] = {}
        self._limits: dict[str, tuple[RateLimit, ...]] = {}

    def __call__(self, origin_id: str) -> int | None:
        """Returns the window, in tokens, of the conversation with this id of its agent. Returns None if the agent has
        not said it. Takes microseconds if the catalogue has not changed."""
        return self.windows().get(origin_id)

    def windows(self) -> Mapping[str, int]:
        """Returns the windows, in tokens, by the agents' own ids of the conversations, as they are now."""
        with self._lock, suppress(sqlite3.Error, OSError):
            self._look()
        return self._windows

    def rate_limits(self, origin_id: str) -> tuple[RateLimit, ...]:
        """Returns what the agent said last of the limits of the user's subscription in the conversation with this id of
        its agent. Takes microseconds if the catalogue has not changed."""
        with self._lock, suppress(sqlite3.Error, OSError):
            catalogue = self._look()
            if catalogue and origin_id not in self._limits:
                select = "SELECT said FROM told WHERE agent_session_id = ?"
                row = catalogue.execute(select, (origin_id,)).fetchone()
                self._limits[origin_id] = _rate_limits(row[0]) if row else ()
        return self._limits.get(origin_id, ())

    def _look(self) -> sqlite3.Connection | None:
        if catalogue := self._file.changed():
            self._catalogue, self._limits = catalogue, {}
            select = "SELECT agent_session_id, window FROM told WHERE window IS NOT NULL"
            self._windows = dict(catalogue.execute(select))
        return self._catalogue


def _rate_limits(said: bytes) -> tuple[RateLimit, ...]:
    try:
        limits = rate_limits_of(as_object(msgspec.json.decode(said)))
    except (msgspec.DecodeError, RecursionError):
        return ()
    return tuple(RateLimit(name=name, percent=percent, until=until) for name, percent, until in limits)


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
        """Notes the answer. A process that already follows takes notice of it when it starts again. Raises
        `StoreUnavailable`."""
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
