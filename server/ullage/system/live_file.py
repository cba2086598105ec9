"""The live file: where the process that follows agents' conversations shows the others what it follows."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from ullage.model.errors import StoreUnavailable
from ullage.model.followed import LiveSessions


def live_path(store: Path) -> Path:
    """Returns the path of the live file of the store at `store`."""
    return store.with_name(f"{store.name}.live.json")


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
