"""The small files next to the store, but for the files of hooks, the catalogue and `ullage wire`.

Their names begin with the store's: see "Files next to the store" in `store/README.md`. Only the user may read them, and
none has to be there: what a file would say is then missing, or is worked out again.

- `STORE.live.json`: where the process that follows agents' conversations shows the others what it follows.
- `STORE.readings/`: how far that process has read large files of agents.
- `STORE.statusline/`: what agents have said to their status lines. `ullage statusline` keeps the newest text of each
  conversation.
- `STORE.given/`: the receipts of what `ullage hook` gave back (`cli/hooks/hook_output.py` writes them).
- `STORE.keeping.json`: whether the user wants agents' files kept in the archive, a question that is asked once.
- `STORE.forgotten.json`: the agents' conversations that the user has Ullage forget. Their files are not read again
  until they change.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.agents.discovery import DATABASES
from ullage.model.errors import StoreUnavailable
from ullage.model.figure import LiveSessions
from ullage.service.ports.agent_files import FoundFile, GivenBack, KeptReading, ToldWindow


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file at once as a whole by one that only the user may read. Raises `StoreUnavailable`; the old file is
    then kept."""
    try:
        # `mkstemp` makes a file that only the user may read.
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        # On Windows a file can't be replaced while another process reads it.
        raise StoreUnavailable(f"cannot write {path}: {error.strerror or error}") from error


class FileLease:
    """A lease by a locked file, which is made if it is missing."""

    def __init__(self, path: Path) -> None:
        from filelock import FileLock  # noqa: PLC0415  (18 ms to import, which only followers need)

        self._lock = FileLock(path)

    def take(self) -> bool:
        """Takes the lease if no other process holds it. Returns whether this process holds it now."""
        from filelock import Timeout  # noqa: PLC0415

        if self._lock.is_locked:
            return True
        try:
            self._lock.acquire(blocking=False)
        except (OSError, Timeout):
            return False
        return True

    def give_up(self) -> None:
        """Lets another process take the lease. Does nothing if this process does not hold it."""
        self._lock.release()


# Readings in the folder, and bytes of them. A reading takes up to a third of its file, and only the files that continue
# need theirs: a user has few of these at once.
_MOST_READINGS, _READINGS_BYTES = 200, 64 << 20
# Bytes. Such a text has about one thousand.
_LONGEST_STATUS = 1 << 16
# Conversations in the list. Those that would be read again because they are not in it were forgotten first.
_MOST_FORGOTTEN = 5_000


def live_path(store: Path) -> Path:
    """Returns the path of the live file of the store at `store`."""
    return store.with_name(f"{store.name}.live.json")


class JsonLiveFile:
    """The live file at `path`, for one thread. Only the user may read it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()

    def write(self, sessions: LiveSessions) -> None:
        """Replaces the file. A reader sees the old file or the new one. Raises `StoreUnavailable`."""
        replace_file(self._path, msgspec.json.encode(sessions))

    def read(self) -> LiveSessions | None:
        """Returns what the file says. Returns None if it has not changed since the last call, if there is none, or if a
        newer Ullage has written it."""
        try:
            status = self._path.stat()
            # Each replacement is another file; a reused inode has another time.
            seen = status.st_ino, status.st_mtime_ns, status.st_size
            if seen == self._seen:
                return None
            sessions = msgspec.json.decode(self._path.read_bytes(), type=LiveSessions)
        except (OSError, msgspec.DecodeError):
            return None
        self._seen = seen
        return sessions


class _ReadingFile(Struct, frozen=True, kw_only=True):
    """What a file holds. `by` is the version of Ullage that has read the agent's file."""

    version: Literal[1] = 1
    by: str
    reading: KeptReading


class ReadingsFolder:
    """The readings next to the store at `store`. Only the user may read them."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.readings")

    def read(self, found: FoundFile) -> KeptReading | None:
        """Returns the reading of a file, as `KeptReadings.read` describes."""
        path, origin_id = str(found.path), found.origin_id
        try:
            kept = msgspec.msgpack.decode(self._file_of(path, origin_id).read_bytes(), type=_ReadingFile)
        except (OSError, msgspec.DecodeError):
            return None
        one = kept.reading
        return one if kept.by == __version__ and (one.path, one.origin_id) == (path, origin_id) else None

    def write(self, reading: KeptReading) -> None:
        """Keeps a reading, as `KeptReadings.write` describes; one that has no room by itself is not kept. Raises
        `StoreUnavailable`."""
        data = msgspec.msgpack.encode(_ReadingFile(by=__version__, reading=reading))
        if len(data) > _READINGS_BYTES:
            return
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._make_room(len(data))
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self._folder}: {error.strerror or error}") from error
        replace_file(self._file_of(reading.path, reading.origin_id), data)

    def remove(self, path: str, origin_id: str) -> None:
        """Removes the readings of a conversation in the file at `path`, if there are any."""
        for file in (self._file_of(path, origin_id), self._file_of(path, "")):
            with suppress(OSError):
                file.unlink()

    def _make_room(self, size: int) -> None:
        """Removes the oldest readings as long as there are too many for another one of `size` bytes."""
        kept = sorted(((file, file.stat()) for file in self._folder.iterdir()), key=lambda one: one[1].st_mtime_ns)
        room = _READINGS_BYTES - size - sum(status.st_size for _, status in kept)
        too_many = len(kept) + 1 - _MOST_READINGS
        for number, (file, status) in enumerate(kept):
            if room >= 0 and number >= too_many:
                break
            room += status.st_size
            with suppress(FileNotFoundError):
                file.unlink()

    def _file_of(self, path: str, origin_id: str) -> Path:
        return self._folder / sha256(f"{path}\0{origin_id}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


class _Window(Struct, frozen=True, kw_only=True):
    context_window_size: int | None = None


class _Said(Struct, frozen=True, kw_only=True):
    context_window: _Window | None = None


class ToldWindows:
    """The windows that agents have said, for the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.statusline")
        self._windows: dict[str, tuple[tuple[int, ...], int | None]] = {}

    def __call__(self, origin_id: str) -> int | None:
        """Returns the window, in tokens, of the conversation with this id of its agent. Returns None if the agent has
        not said it, or if what it said can't be read."""
        path = self._folder / f"{origin_id}.json"
        try:
            status = path.stat()
            seen = status.st_ino, status.st_mtime_ns, status.st_size
            if self._windows.get(origin_id, ((), None))[0] != seen:
                data = path.read_bytes() if status.st_size <= _LONGEST_STATUS else b""
                said = msgspec.json.decode(data, type=_Said)
                size = said.context_window.context_window_size if said.context_window else None
                self._windows[origin_id] = seen, size if size and size > 0 else None
        except (OSError, ValueError, msgspec.DecodeError):
            return None
        return self._windows[origin_id][1]


def told_beside(store: Path) -> ToldWindow:
    """Returns `ToldWindows`, or, if no agent has said anything until now, what says the same in less time."""
    told = ToldWindows(store)
    return told if store.with_name(f"{store.name}.statusline").exists() else _nothing_told


def _nothing_told(origin_id: str) -> int | None:  # noqa: ARG001 - the port's parameter
    return None


class Receipts:
    """The receipts next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.given")

    def __call__(self, agent_session_id: str, /) -> tuple[GivenBack, ...]:
        """Returns the receipts of the session to which its agent gave this id, the oldest first. Lines that can't be
        read are left out; without a file there are none."""
        if not agent_session_id or Path(agent_session_id).name != agent_session_id:
            return ()
        try:
            lines = (self._folder / f"{agent_session_id}.jsonl").read_bytes().splitlines()
        except (OSError, ValueError):
            return ()
        return tuple(receipt for line in lines if (receipt := _receipt(line)) is not None)


def _receipt(line: bytes) -> GivenBack | None:
    try:
        return msgspec.json.decode(line, type=GivenBack)
    except msgspec.MsgspecError:
        return None


class _KeepingFile(Struct, frozen=True, kw_only=True):
    """What the file holds. `at` is the time of the answer, in Unix milliseconds."""

    version: Literal[1] = 1
    keep: bool
    at: int


class Keeping:
    """The answer next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.keeping.json")

    @property
    def wanted(self) -> bool | None:
        """Whether the user wants files kept; None before the first answer."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_KeepingFile).keep
        except (OSError, msgspec.DecodeError):
            return None

    def answer(self, *, keep: bool) -> None:
        """Notes the answer. A process that already follows takes notice of it when it starts again. Raises
        `StoreUnavailable`."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path, msgspec.json.encode(_KeepingFile(keep=keep, at=time.time_ns() // 1_000_000)))


class _ForgottenFile(Struct, frozen=True, kw_only=True):
    """What the file holds: the times, in Unix milliseconds, by the file's path or, in a database, by that and the
    agent's own id of the conversation."""

    version: Literal[1] = 1
    times: dict[str, int]


class ForgottenList:
    """The list next to the store at `store`. Only the user may read it. It has no text of a conversation."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.forgotten.json")

    def read(self) -> Mapping[str, int]:
        """Returns the times at which conversations were forgotten, by `forgotten_key`."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_ForgottenFile).times
        except (OSError, msgspec.DecodeError):
            return {}

    def add(self, path: str, origin_id: str, at: int) -> None:
        """Adds a conversation. Raises `StoreUnavailable`."""
        times = [*self.read().items()][1 - _MOST_FORGOTTEN :]
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(
            self._path, msgspec.json.encode(_ForgottenFile(times={**dict(times), forgotten_key(path, origin_id): at}))
        )


def forgotten_key(path: str, origin_id: str) -> str:
    """Returns what names a conversation in the list. `path` is its file or its database."""
    return f"{path}\n{origin_id}" if path.endswith(DATABASES) else path
