"""An open folder of a memory, as a port, and the walk through all that it holds.

Two classes implement `Folder`: `memory_descriptors.py` for systems that open a name relative to an open folder (Linux,
macOS), `memory_by_path.py` for the others (Windows).
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from typing import Protocol, Self

from msgspec import Struct

from ullage.memory.notes import DEPTH

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
        """Moves `name` into the folder `target` under `new_name`. An existing file of that name is replaced in one
        step."""
        ...

    def remove(self, name: str) -> None:
        """Removes a file, a link (not the file that it leads to) or a folder with everything in it. Failures are
        ignored."""
        ...


class Found(Struct, frozen=True, kw_only=True):
    """A plain file or folder that `walk` found. `parts` are the names that lead to it from the folder where the walk
    began; `size` is bytes, 0 for a folder."""

    parts: tuple[str, ...]
    is_folder: bool
    size: int


@contextmanager
def folder_at(base: Folder, parts: Sequence[str]) -> Generator[Folder]:
    """Opens the folder to which the names `parts` lead from `base`, and yields it. Raises `OSError` if one of them is
    not a folder."""
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
