"""What the tools on files may look at: paths that stay inside a folder, the files worth listing, and plain files.

A session has its folder, the further folders that its client has opened, and what the user has just permitted outside
of them. Only plain files are read: never a pipe, whose reading may never end, and never through a link that leads out
of the folder.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ullage.model.errors import InvalidRequest

# Folders that other programs make: their thousands of files say nothing about the project.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
)
# Characters: Linux's PATH_MAX, the longest of any system. It also keeps an error that repeats the path short.
_LONGEST_PATH = 4_096
# Windows has none of these flags; there a folder holds neither named pipes nor devices.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_PATH opens a folder that may be entered but not listed, as a path through it does.
_OPEN_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_OPEN_FILE = (
    os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
_BY_DESCRIPTOR = bool(_NO_FOLLOW) and os.open in os.supports_dir_fd


def resolve_inside(cwd: str, path: str) -> Path:
    """Returns the absolute path of `path`, which is relative to the folder `cwd`, with links followed. The file need
    not exist. Raises `InvalidRequest` if the result is not inside `cwd`, if the system cannot follow the path, or if
    `cwd` is not a folder."""
    if "\0" in path:
        raise InvalidRequest("a path cannot hold a NUL character")
    if len(path) > _LONGEST_PATH:
        raise InvalidRequest(f"a path of {len(path):,} characters is too long; at most {_LONGEST_PATH:,} are possible")
    try:
        if not cwd or not Path(cwd).is_dir():
            raise InvalidRequest("this session has no folder, so there are no files to look at")
        root = Path(cwd).resolve()
        found = (root / path).resolve()
        # Asks the system, which may refuse the path, for example because a name in it is too long.
        found.exists()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError) as error:
        raise InvalidRequest(f"{path!r} cannot be followed: {getattr(error, 'strerror', None) or error}") from error
    if not found.is_relative_to(root):
        raise InvalidRequest(f"{path!r} is outside the session's folder {root}; only what is inside can be read")
    return found


def walk_files(root: Path, cwd: str) -> Iterator[Path]:
    """Yields the plain files in a folder and its subfolders, sorted by name, without the folders of `SKIPPED`. Pipes,
    devices and sockets are left out, because reading one may never end. Files whose link leads out of `cwd` or nowhere
    are left out, and folders that are links are not entered."""
    inside = Path(cwd).resolve()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            path = Path(folder, name)
            if _is_plain(path, inside):
                yield path


def _is_plain(path: Path, inside: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            return stat.S_ISREG(mode)
        target = path.resolve(strict=True)
        return target.is_relative_to(inside) and target.is_file()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError):
        return False


class Reach(Struct, frozen=True, kw_only=True):
    """What one session's tools may look at without asking: its folder `cwd`, and the folders `further`."""

    cwd: str
    further: tuple[str, ...] = ()


class Spot(Struct, frozen=True, kw_only=True):
    """Where a call looks: `path`, in the folder `folder` that it may not leave."""

    folder: str
    path: str


def open_spot(reach: Reach, path: str) -> Spot | None:
    """Returns where a call with this path looks, if that is inside one of the folders, with links followed. `path` is
    relative to the session's folder, or absolute. Returns None if it is outside, or cannot be followed."""
    found = resolved(reach.cwd, path)
    if found is None:
        return None
    if _holds(reach.cwd, found):
        return Spot(folder=reach.cwd, path=path)
    return next((Spot(folder=one, path=str(found)) for one in reach.further if _holds(one, found)), None)


def permitted_spot(found: Path) -> Spot:
    """Returns where a call looks that the user has permitted for `found`, a file or folder outside: only there."""
    folder = found if found.is_dir() else found.parent
    return Spot(folder=str(folder), path=str(found))


def resolved(cwd: str, path: str) -> Path | None:
    """Returns the absolute path, with links followed, or None if the system cannot follow it or there is no file."""
    try:
        return (Path(cwd) / path).resolve(strict=True) if cwd else None
    # RuntimeError: links that lead to each other, before Python 3.13. ValueError: a NUL character.
    except (OSError, RuntimeError, ValueError):
        return None


def _holds(folder: str, found: Path) -> bool:
    root = resolved(folder, ".")
    return root is not None and found.is_relative_to(root)


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
    descriptor = _open_inside(root, inner)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a plain file")
        return file.read(most)


def _open_inside(root: Path, inner: Path) -> int:
    if not _BY_DESCRIPTOR:
        return os.open(root / inner, _OPEN_FILE)
    folder = os.open(root, _OPEN_FOLDER & ~_NO_FOLLOW)
    try:
        for name in inner.parts[:-1]:
            outer, folder = folder, os.open(name, _OPEN_FOLDER, dir_fd=folder)
            os.close(outer)
        return os.open(inner.name, _OPEN_FILE, dir_fd=folder)
    finally:
        os.close(folder)
