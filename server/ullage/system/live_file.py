"""The live file: where the process that follows agents' conversations shows the others what it follows."""

from pathlib import Path

import msgspec

from ullage.model.followed import LiveSessions
from ullage.system.replaced_files import replace_file


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
