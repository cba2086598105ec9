"""A memory's base folder, opened for one command."""

import secrets
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ullage.store.memory_by_path import PathFolder
from ullage.store.memory_descriptors import DescriptorFolder, is_supported
from ullage.store.memory_walk import FOLDER_MODE, Folder

Open = Callable[[Path], AbstractContextManager[Folder]]
# Hidden, and no name that a path of a memory may hold: a file half written, or a folder half deleted.
_UNFINISHED = ".ullage-"
# Seconds between two tries to get the lock: a change takes a few milliseconds.
_POLL = 0.005

open_folder: Open = DescriptorFolder.open if is_supported() else PathFolder.open


@contextmanager
def opened(base: Path, open_base: Open) -> Generator[Folder]:
    """The base folder, made if it is missing. Its own path is the user's choice and may lead over links."""
    base.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with open_base(base) as folder:
        yield folder


@contextmanager
def locked(base: Path, open_base: Open) -> Generator[Folder]:
    """The base folder for a change: changes by any thread or process of Ullage run one after another.

    The lock is the file `NAME.lock` next to the base folder, out of reach of the memory's own commands.
    """
    from filelock import FileLock  # noqa: PLC0415  (18 ms to import, which only changes of a memory need)

    with opened(base, open_base) as folder:
        real = base.resolve()
        with FileLock(real.with_name(f"{real.name}.lock"), poll_interval=_POLL):
            # No change is running, so unfinished names were left by a process that died.
            for name in folder.names():
                if name.startswith(_UNFINISHED):
                    folder.remove(name)
            yield folder


def unfinished_name() -> str:
    """A new name for a file that is not complete yet, or a folder that is being deleted."""
    return _UNFINISHED + secrets.token_hex(8)
