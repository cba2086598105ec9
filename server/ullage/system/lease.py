"""A lease that one process at a time holds. The operating system ends it when the process dies."""

from pathlib import Path


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
