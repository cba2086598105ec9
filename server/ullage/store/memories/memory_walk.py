"""An open folder of a memory, as a port, and the walk through all that it holds.

Two classes implement `Folder`: `DescriptorFolder` for systems that open a name relative to an open folder (Linux,
macOS), `PathFolder` for the others (Windows).
"""

import os
import shutil
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from msgspec import Struct

from ullage.bounds import open_plain
from ullage.memory.memory_tool import DEPTH

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# Far more than a memory may hold: it bounds a listing of a folder that another program has filled.
MOST_ENTRIES = 20_000


class Folder(Protocol):
    """An open folder of a memory. Each `name` is one name in the folder, not a path. Every method raises `OSError` if
    the disk refuses.

    No method follows a link. `enter`, `status` and `read` treat a link as missing, and `remove` removes the link
    itself.
    """

    def enter(self, name: str) -> AbstractContextManager[Self]:
        """Opens the folder `name` in a `with` block."""
        ...

    def names(self) -> list[str]:
        """Returns the names in the folder, sorted, at most `MOST_ENTRIES`."""
        ...

    def status(self, name: str) -> os.stat_result:
        """Returns the status of the plain file or folder `name`."""
        ...

    def read(self, name: str, most: int) -> tuple[bytes, os.stat_result]:
        """Returns the first `most` bytes of the plain file `name`, and its status when it was opened."""
        ...

    def make_folder(self, name: str) -> None:
        """Makes a new folder `name`. Raises `OSError` if the name exists."""
        ...

    def write_new(self, name: str, data: bytes) -> None:
        """Writes a new file `name`, which is on the disk when this returns. Raises `OSError` if the name exists."""
        ...

    def move(self, name: str, target: Self, new_name: str) -> None:
        """Moves `name` into `target` as `new_name`, in place of a file of that name, in one step."""
        ...

    def remove(self, name: str) -> None:
        """Removes a file, a link itself, or a folder with everything in it. Ignores failures."""
        ...


class Found(Struct, frozen=True, kw_only=True):
    """A plain file or folder that `walk` found. `parts` are the names that lead to it from the folder where the walk
    began; `size` is bytes, 0 for a folder."""

    parts: tuple[str, ...]
    is_folder: bool
    size: int


@contextmanager
def folder_at(base: Folder, parts: Sequence[str]) -> Generator[Folder]:
    """Opens the folder at the names `parts` from `base`, and yields it. Raises `OSError` if one is no folder."""
    with ExitStack() as opened:
        current = base
        for name in parts:
            current = opened.enter_context(current.enter(name))
        yield current


def walk(folder: Folder) -> Iterator[Found]:
    """Yields everything in an open folder and its subfolders, sorted by name, each folder before its content. Entries
    that disappear during the walk are left out."""
    return islice(_walk(folder, ()), MOST_ENTRIES)


def _walk(folder: Folder, above: tuple[str, ...]) -> Iterator[Found]:
    for name in folder.names():
        try:
            info = folder.status(name)
        except OSError:
            continue
        is_folder = stat.S_ISDIR(info.st_mode)
        parts = (*above, name)
        yield Found(parts=parts, is_folder=is_folder, size=0 if is_folder else info.st_size)
        if is_folder and len(parts) <= DEPTH:
            yield from _inside(folder, name, parts)


def _inside(folder: Folder, name: str, parts: tuple[str, ...]) -> Iterator[Found]:
    with ExitStack() as opened:
        try:
            inner = opened.enter_context(folder.enter(name))
        except OSError:
            return
        yield from _walk(inner, parts)


# Windows has none of these flags; there this module can be imported, but `is_supported` returns False.
_DIRECTORY, _NO_FOLLOW = getattr(os, "O_DIRECTORY", 0), getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | _DIRECTORY | _NO_FOLLOW
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_ANY = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW


def is_supported() -> bool:
    """Returns whether this system opens, moves and removes names relative to an open folder."""
    needed = {os.open, os.stat, os.mkdir, os.rename, os.unlink}
    return bool(_DIRECTORY and _NO_FOLLOW) and needed <= os.supports_dir_fd and os.scandir in os.supports_fd


class DescriptorFolder:
    """A folder of a memory, used by its open descriptor: no link leads out, whatever another process swaps in.

    Every step goes from an open folder to a name in it, and opens that name only if it is no link (`O_NOFOLLOW`).
    Nothing is checked first and used by path afterwards: what was opened is what is used, and `fstat` says what it is.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def open(cls, base: Path) -> Generator["DescriptorFolder"]:
        """Opens the memory's base folder for a block, following links on the way to it. Raises `OSError`."""
        with _closing(os.open(base, os.O_RDONLY | _DIRECTORY)) as descriptor:
            yield cls(descriptor)

    @contextmanager
    def enter(self, name: str) -> Generator["DescriptorFolder"]:
        with _closing(os.open(name, _FOLDER, dir_fd=self._descriptor)) as descriptor:
            yield DescriptorFolder(descriptor)

    def names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            return sorted(entry.name for entry in islice(entries, MOST_ENTRIES))

    def status(self, name: str) -> os.stat_result:
        info = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            raise FileNotFoundError(name)
        return info

    def read(self, name: str, most: int) -> tuple[bytes, os.stat_result]:
        with _closing(os.open(name, _ANY, dir_fd=self._descriptor)) as descriptor:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise FileNotFoundError(name)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(most), info

    def make_folder(self, name: str) -> None:
        os.mkdir(name, FOLDER_MODE, dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def write_new(self, name: str, data: bytes) -> None:
        with os.fdopen(os.open(name, _NEW, FILE_MODE, dir_fd=self._descriptor), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def move(self, name: str, target: "DescriptorFolder", new_name: str) -> None:
        os.rename(name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=target._descriptor)
        os.fsync(target._descriptor)
        os.fsync(self._descriptor)

    def remove(self, name: str) -> None:
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode):
                shutil.rmtree(name, ignore_errors=True, dir_fd=self._descriptor)
            else:
                os.unlink(name, dir_fd=self._descriptor)


@contextmanager
def _closing(descriptor: int) -> Generator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# `stat.FILE_ATTRIBUTE_REPARSE_POINT`, 0 where the system has no such attribute.
_REPARSE_POINT = 0x400
# Tries to read a file that is replaced again and again: each replacement writes a whole new file first.
_READS = 20
# Seconds to wait before Windows is asked again to replace a file that is open elsewhere. A read takes milliseconds.
_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05)


class PathFolder:
    """A folder of a memory, used by its path.

    Before each use every component from the base folder down is checked: none may be a link, a junction or another
    reparse point. The check and the use are two steps, so this class cannot guard against another process of the same
    user that swaps a component for a link between the two. It guards against links that exist already.
    """

    def __init__(self, base: Path, parts: tuple[str, ...] = ()) -> None:
        self._base = base
        self._parts = parts

    @classmethod
    @contextmanager
    def open(cls, base: Path) -> Generator["PathFolder"]:
        """Opens the memory's base folder for a block, following links on the way to it. Raises `OSError`."""
        if not base.is_dir():
            raise NotADirectoryError(str(base))
        yield cls(base.resolve())

    @contextmanager
    def enter(self, name: str) -> Generator["PathFolder"]:
        if not stat.S_ISDIR(self.status(name).st_mode):
            raise FileNotFoundError(name)
        yield PathFolder(self._base, (*self._parts, name))

    def names(self) -> list[str]:
        with os.scandir(self._checked()) as entries:
            return sorted(entry.name for entry in islice(entries, MOST_ENTRIES))

    def status(self, name: str) -> os.stat_result:
        return _plain_status(self._checked() / name)

    def read(self, name: str, most: int) -> tuple[bytes, os.stat_result]:
        path = self._checked() / name
        for _ in range(_READS):
            checked = _plain_status(path)
            if not stat.S_ISREG(checked.st_mode):
                break
            with open_plain(path) as file:
                info = os.fstat(file.fileno())
                # Otherwise the file was replaced between the check and the opening.
                if os.path.samestat(info, checked):
                    return file.read(most), info
        raise FileNotFoundError(name)

    def make_folder(self, name: str) -> None:
        (self._checked() / name).mkdir(FOLDER_MODE)

    def write_new(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self._checked() / name, flags, FILE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def move(self, name: str, target: "PathFolder", new_name: str) -> None:
        source, destination = self._checked() / name, target._checked() / new_name
        for pause in _PAUSES:
            with suppress(PermissionError):
                source.replace(destination)
                return
            time.sleep(pause)
        source.replace(destination)

    def remove(self, name: str) -> None:
        with suppress(OSError):
            path = self._checked() / name
            info = path.lstat()
            if stat.S_ISDIR(info.st_mode) and not _is_link(info):
                shutil.rmtree(path, ignore_errors=True)
            elif stat.S_ISDIR(info.st_mode):
                # A junction: removing it as a folder leaves what it leads to.
                path.rmdir()
            else:
                path.unlink()

    def _checked(self) -> Path:
        path = self._base
        for part in self._parts:
            path /= part
            if not stat.S_ISDIR(_plain_status(path).st_mode):
                raise FileNotFoundError(str(path))
        return path


def _plain_status(path: Path) -> os.stat_result:
    info = path.lstat()
    if _is_link(info) or not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        raise FileNotFoundError(str(path))
    return info


def _is_link(info: os.stat_result) -> bool:
    attributes = getattr(info, "st_file_attributes", 0)
    return stat.S_ISLNK(info.st_mode) or bool(attributes & _REPARSE_POINT)
