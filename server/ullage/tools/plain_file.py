"""Reads a plain file of the session's folder: never a pipe, whose reading may never end, and never through a link."""

import os
import stat
from pathlib import Path

# Windows has none of these flags; there a folder holds neither named pipes nor devices.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_PATH opens a folder that may be entered but not listed, as a path through it does.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_FILE = (
    os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
_BY_DESCRIPTOR = bool(_NO_FOLLOW) and os.open in os.supports_dir_fd


def read_plain(root: Path, path: Path, most: int) -> bytes:
    """Returns the first `most` bytes of a file inside the folder `root`. `root` is resolved; `path` is absolute, and a
    link in it is followed if it leads to a file inside `root`.

    Each step goes from an open folder to a name in it, so that a link which another program puts there after the check
    is not followed. Raises `OSError` if the file cannot be read, lies outside `root`, or is no plain file.
    """
    try:
        inner = path.resolve().relative_to(root)
    except (RuntimeError, ValueError) as error:
        raise OSError(str(error)) from error
    descriptor = _open(root, inner)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a plain file")
        return file.read(most)


def _open(root: Path, inner: Path) -> int:
    if not _BY_DESCRIPTOR:
        return os.open(root / inner, _FILE)
    folder = os.open(root, _FOLDER & ~_NO_FOLLOW)
    try:
        for name in inner.parts[:-1]:
            outer, folder = folder, os.open(name, _FOLDER, dir_fd=folder)
            os.close(outer)
        return os.open(inner.name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
