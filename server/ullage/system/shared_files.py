"""Files that several processes share: one is replaced at once as a whole, one is locked by one of them."""

from pathlib import Path

from ullage.host import write_whole
from ullage.model.errors import StoreUnavailable


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file at once as a whole by one that only the user may read. Raises `StoreUnavailable`; the old file is
    then kept."""
    try:
        write_whole(str(path), data)
    except OSError as error:
        # On Windows a file can't be replaced while another process reads it.
        raise StoreUnavailable(f"cannot write {path}: {error.strerror or error}") from error


class FileLease:
    """A lease by a locked file, which is made if it is missing."""

    def __init__(self, path: Path) -> None:
        from filelock import FileLock  # noqa: PLC0415  (18 ms to import, which only followers need)

        self._lock = FileLock(path, mode=0o600)

    def take(self) -> bool:
        from filelock import Timeout  # noqa: PLC0415

        if self._lock.is_locked:
            return True
        try:
            self._lock.acquire(blocking=False)
        except (OSError, Timeout):
            return False
        return True

    def give_up(self) -> None:
        self._lock.release()
