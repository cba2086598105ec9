"""Files of lines that several hooks add to at once, and that stay below a size."""

import os
import sys


def append_line(path: str, line: bytes, longest: int) -> None:
    """Adds a line, with its line end, to a file in one write. If the file is longer than `longest` bytes then, its
    older half is dropped. No line of another process is lost. Raises `OSError`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # Until it is closed, no other process drops the older half, which rewrites the file, and none appends while
        # this one does.
        _lock(descriptor)
        os.write(descriptor, line)
        if os.fstat(descriptor).st_size > longest:
            _drop_older(path, longest // 2)
    finally:
        os.close(descriptor)


def _drop_older(path: str, kept: int) -> None:
    """Leaves the whole lines of the last `kept` bytes. A process that ends in the midst of this leaves lines twice."""
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(-kept, os.SEEK_END)
        newer = file.read().partition(b"\n")[2]
        file.seek(0)
        file.write(newer)
        file.truncate()


def _lock(descriptor: int) -> None:
    """Waits until no other process has the file locked. Windows locks no file that is only appended to."""
    if sys.platform != "win32":
        from fcntl import LOCK_EX, flock  # noqa: PLC0415

        try:  # noqa: SIM105  (importing contextlib takes a hook's time)
            flock(descriptor, LOCK_EX)
        except OSError:
            # A file system without locks. One write is whole on its own.
            pass
