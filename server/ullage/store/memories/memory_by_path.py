"""Folders of a memory by path, for systems that cannot open a name relative to an open folder (Windows)."""

import os
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from ullage.limits import open_plain
from ullage.store.memories.memory_walk import FILE_MODE, FOLDER_MODE, MOST_ENTRIES

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
        """Opens the base folder of a memory in a `with` block. Links on the way to it are followed. Raises `OSError` if
        it is not a folder."""
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
