"""A memory's base folder, opened for one command."""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ullage.store.memory_walk import FOLDER_MODE, names_in

# Hidden, and no name that a path of a memory may hold: what is half written, or half deleted.
_UNFINISHED = ".ullage-"


@contextmanager
def opened(base: Path) -> Generator[int]:
    """The base folder, made if it is not there. Its own path is the person's choice and may lead over links."""
    base.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked(base: Path) -> Generator[int]:
    """The base folder for a change: changes by any thread or process of Ullage come one after another."""
    with opened(base) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Nobody else is at work, so this is what a process left when it died.
        for name in names_in(descriptor):
            if name.startswith(_UNFINISHED):
                remove(descriptor, name)
        yield descriptor


def unfinished_name() -> str:
    """A new name for what must not be seen yet, or any more."""
    return _UNFINISHED + secrets.token_hex(8)


def remove(parent: int, name: str) -> None:
    """Removes a file, a link (not what it leads to) or a folder with all it holds, as far as the disk lets it."""
    with suppress(OSError):
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)
