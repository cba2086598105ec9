"""Ways into a memory's folder that no link leads out of.

Every step goes from an open folder to a name in it, and opens that name only if it is no link (`openat` with
`O_NOFOLLOW`). Nothing is looked at first and used afterwards by a path, so whatever another process swaps in between,
what was opened is what is used. `fstat` then tells what it is.
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice

from msgspec import Struct

from ullage.memory.paths import DEPTH

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK, opening a pipe that somebody laid there would wait for its writer.
_ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
FOLDER_MODE = 0o700
_FILE_MODE = 0o600
# Far more than a memory may hold; whoever fills its folder by other means does not keep a listing busy for ever.
_MOST_ENTRIES = 20_000


class Found(Struct, frozen=True, kw_only=True):
    """A plain file or folder below an open one: the names that lead to it, bytes of a file."""

    parts: tuple[str, ...]
    is_folder: bool
    size: int


@contextmanager
def folder_at(base: int, parts: Sequence[str]) -> Generator[int]:
    """The folder that `parts` lead to from the open folder `base`. Raises `OSError` where a name is none."""
    with ExitStack() as opened:
        current = base
        for name in parts:
            current = os.open(name, _FOLDER, dir_fd=current)
            opened.callback(os.close, current)
        yield current


@contextmanager
def entry_at(parent: int, name: str) -> Generator[tuple[int, os.stat_result]]:
    """What `name` is in the folder `parent`, open for reading, a plain file or folder. Raises `OSError`."""
    descriptor = os.open(name or ".", _ANY, dir_fd=parent)
    try:
        info = os.fstat(descriptor)
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            raise FileNotFoundError(name)
        yield descriptor, info
    finally:
        os.close(descriptor)


def status_at(parent: int, name: str) -> os.stat_result:
    """Status of the plain file or folder `name`. Raises `OSError`, also for a link."""
    info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        raise FileNotFoundError(name)
    return info


def make_folder(parent: int, name: str) -> None:
    """A new folder. Raises `OSError`."""
    os.mkdir(name, FOLDER_MODE, dir_fd=parent)


def write_new(parent: int, name: str, data: bytes) -> None:
    """A new file, on the disk when this returns. Raises `OSError`."""
    descriptor = os.open(name, _NEW, _FILE_MODE, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def names_in(folder: int) -> list[str]:
    """The names in an open folder, in order."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, _MOST_ENTRIES))


def walk(folder: int) -> Iterator[Found]:
    """All below an open folder in the order of names, each folder before what it holds. What goes while it is
    looked at is left out."""
    return islice(_walk(folder, ()), _MOST_ENTRIES)


def _walk(folder: int, above: tuple[str, ...]) -> Iterator[Found]:
    for name in names_in(folder):
        try:
            info = status_at(folder, name)
        except OSError:
            continue
        is_folder = stat.S_ISDIR(info.st_mode)
        parts = (*above, name)
        yield Found(parts=parts, is_folder=is_folder, size=0 if is_folder else info.st_size)
        if is_folder and len(parts) <= DEPTH:
            yield from _inside(folder, name, parts)


def _inside(folder: int, name: str, parts: tuple[str, ...]) -> Iterator[Found]:
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return
    try:
        yield from _walk(descriptor, parts)
    finally:
        os.close(descriptor)
