"""Folders of a memory by descriptor, for systems with `openat`: no link leads out, whatever another process swaps in.

Every step goes from an open folder to a name in it, and opens that name only if it is no link (`O_NOFOLLOW`). Nothing
is checked first and used by path afterwards: what was opened is what is used, and `fstat` says what it is.
"""

import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from ullage.store.memories.memory_walk import FILE_MODE, FOLDER_MODE, MOST_ENTRIES

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
    """A folder of a memory, used by its open descriptor, so that no other process can make a path lead elsewhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def open(cls, base: Path) -> Generator["DescriptorFolder"]:
        """Opens the base folder of a memory in a `with` block. Links on the way to it are followed. Raises `OSError` if
        it is not a folder."""
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
