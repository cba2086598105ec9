"""Files that several processes share: made or replaced at once as a whole, or locked by one of them."""

import os
from contextlib import suppress
from pathlib import Path

from ullage.host import write_whole
from ullage.model.errors import InvalidRequest, StoreUnavailable


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file at once as a whole by one that only the user may read. Raises `StoreUnavailable`; the old file is
    then kept."""
    try:
        write_whole(str(path), data)
    except OSError as error:
        # On Windows a file can't be replaced while another process reads it.
        raise StoreUnavailable(f"cannot write {path}: {error.strerror or error}") from error


def create_file(path: str, data: bytes) -> None:
    """Makes a file that only the user may read, and its folders. The file appears whole or not at all. Raises
    `InvalidRequest` if there is such a file, which is not changed, or if it can't be written."""
    place = Path(path)
    own = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: no folder {place.parent} can be made") from error
    try:
        try:
            with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename, a link never takes the place of a file.
            os.link(own, place)
        finally:
            with suppress(FileNotFoundError):
                own.unlink()
    except FileExistsError:
        raise InvalidRequest(f"{path} is there already, and is not written over") from None
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error.strerror or error}") from error


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
