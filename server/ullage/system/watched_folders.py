"""Says which of agents' files change, by the word of the operating system: inotify, FSEvents, ReadDirectoryChangesW.

Only inotify tells of each write. FSEvents and Windows tell of a file when its writer closes it, and agents keep theirs
open, so there the system's word finds what is new, and files that continue are looked at. A file system of another
machine tells nothing of what is written there: its folders are looked at, too.
"""

import asyncio
import glob
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.transcripts import read_with
from ullage.bounds import LARGEST_VALUE, read_text
from ullage.host.side_files import ARRIVALS, CATALOGUE
from ullage.service.ports.agent_files import Changes
from ullage.watch.candidates import fits, in_parts, patterns_of

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

# Folders that are watched below one root: each takes a kilobyte of the kernel's, and a user has some thousands.
_MOST_FOLDERS = 4_000
_MOUNTS = Path("/proc/self/mountinfo")
# Types of file systems that other machines, a host or a program write to (`/proc/self/mountinfo`). WSL's `/mnt` is 9p.
_FOREIGN = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|virtiofs|vboxsf|prl_fs|vmhgfs|drvfs|fuse|fuse\..+|ceph|afs|lustre|gpfs|ocfs2|glusterfs|fakeowner"
)
_ESCAPED = re.compile(r"\[([*?\[])\]")
# SQLite writes changes to this file first.
_WRITE_AHEAD = "-wal"
# How the name of a file that is one JSON value ends: only such files are read with others.
_VALUE = ".json"
# Paths for which it is remembered whether a pattern finds them.
_MOST_KNOWN = 10_000


class _Root(Struct, frozen=True):
    """A folder as patterns name it, and as the system does. `deep` says that those in it are watched, too."""

    path: str
    real: str
    deep: bool


class WatchedFolders:
    """The folders of agents on a machine, and the files next to Ullage's store at `store`; see `WatchesFiles`.
    `machine` says where the agents keep conversations now. If not `is_local`, the store is a server."""

    def __init__(
        self, machine: Callable[[], Machine], agents: Sequence[Agent], store: Path, *, is_local: bool = True
    ) -> None:
        store = store.absolute()
        self._machine = machine
        self._agents = agents
        self._own = frozenset(f"{store}{end}" for end in ("", "-wal", CATALOGUE, f"{CATALOGUE}-wal", ARRIVALS))
        self._folder, self._is_local = str(store.parent), is_local
        self._observer: BaseObserver | None = None
        self._wake: Callable[[], object] = bool
        self._watches: dict[_Root, ObservedWatch] = {}
        self._patterns: tuple[list[str], ...] = ()
        # Folders that will be watched when they are there.
        self._missing: frozenset[str] = frozenset()
        # Those whose folder was removed: another one of the same name is not watched.
        self._gone: set[_Root] = set()
        self._lock = Lock()
        self._changes = Changes()
        # Handles of processes, which can be read when these end.
        self._processes: dict[int, int] = {}
        self._over: set[int] = set()
        self._distrusted = False
        self.is_complete = False
        self._fits = lru_cache(_MOST_KNOWN)(self._is_found)
        self._covers = lru_cache(_MOST_KNOWN)(self._is_covered)

    def begin(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        with suppress(ImportError, OSError, RuntimeError):
            self._observer = _new_observer()
            self._observer.daemon = True
            self._observer.start()
        self.arrange()

    def end(self) -> None:
        """Watches nothing any more."""
        for process_id in [*self._processes]:
            self._has_ended(process_id)
        self._over.clear()
        observer, self._observer = self._observer, None
        self._watches, self.is_complete = {}, False
        self._covers.cache_clear()
        if observer is not None:
            observer.stop()
            observer.join()

    def arrange(self) -> None:
        """Watches the folders in which agents may have conversations now."""
        if self._observer is None:
            return
        patterns = [*_patterns(self._machine(), self._agents)]
        folders, missing = _folders(patterns)
        folders.setdefault(self._folder, False)
        roots = {_Root(path, os.path.realpath(path), is_deep) for path, is_deep in folders.items()}
        told = {root for root in roots if _is_told_of(root)}
        wanted = {one for one in told if not any(_is_below(one, other) for other in told)}
        with self._lock:
            gone, self._gone = self._gone, set()
        for root in {*gone, *self._watches.keys() - wanted} & self._watches.keys():
            self._observer.unschedule(self._watches.pop(root))
        self._patterns, self._missing = tuple(one.split("/") for one in patterns), missing
        self._fits.cache_clear()
        self._covers.cache_clear()
        for root in wanted - self._watches.keys():
            with suppress(OSError):
                self._watches[root] = _schedule(self._observer, self, root)
        is_all = told == roots and wanted == self._watches.keys()
        self.is_complete = self._is_local and is_all and not self._distrusted

    def covers(self, path: Path) -> bool:
        # A file may be replaced by a link to another folder, of which nothing is told.
        return not self._distrusted and not path.is_symlink() and self._covers(str(path.parent))

    def distrust(self) -> None:
        """Has everything looked at from now on: the system has not told what has happened."""
        self._distrusted, self.is_complete = True, False

    def tells_end_of(self, process_id: int) -> bool:
        if sys.platform != "linux" or self._observer is None:
            return False
        if process_id in self._over:
            # Nobody has asked how it ended, so the system still has it.
            return False
        if process_id not in self._processes:
            try:
                handle = os.pidfd_open(process_id)
            except ProcessLookupError:
                self._note(Changes(is_ended=True))
                return True
            except (AttributeError, OSError):
                # A kernel before 5.3, or what a sandbox forbids.
                return False
            self._processes[process_id] = handle
            asyncio.get_running_loop().add_reader(handle, self._has_ended, process_id)
        return True

    def _has_ended(self, process_id: int) -> None:
        handle = self._processes.pop(process_id)
        self._over.add(process_id)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)
        self._note(Changes(is_ended=True))

    def changes(self) -> Changes:
        with self._lock:
            found, self._changes = self._changes, Changes()
        return found

    def _note(self, new: Changes) -> None:
        with self._lock:
            known = self._changes
            self._changes = Changes(
                paths=known.paths | new.paths,
                is_anywhere=known.is_anywhere or new.is_anywhere,
                is_own=known.is_own or new.is_own,
                is_ended=known.is_ended or new.is_ended,
            )
        if known == Changes():
            self._wake()

    def dispatch(self, event: "FileSystemEvent") -> None:
        """Takes notice of a change. Called by a thread of the observer."""
        told = {os.fsdecode(path) for path in (event.src_path, event.dest_path) if path}
        names = {name for path in told for name in self._named(path)}
        is_own = not names.isdisjoint(self._own)
        # A folder that is moved, or one that was missed, has files about which no event comes.
        leaves = event.is_directory and event.event_type in ("moved", "deleted")
        with self._lock:
            self._gone |= {root for root in list(self._watches) if root.real in told} if leaves else set()
        is_anywhere = (leaves and any(map(self._has_files, names))) or any(map(self._is_missed, names))
        files = {name.removesuffix(_WRITE_AHEAD) for name in names if not event.is_directory}
        files = {found for name in files for found in ((name,) if self._fits(name) else self._read_with(name))}
        if files or is_own or is_anywhere:
            self._note(Changes(paths=frozenset(files), is_anywhere=is_anywhere, is_own=is_own))

    def _named(self, path: str) -> Iterator[str]:
        """Yields the paths by which agents' patterns and the store name what the system calls `path`."""
        for root in list(self._watches):
            if path == root.real or path.startswith(root.real + os.sep):
                yield root.path + path[len(root.real) :]

    def _is_missed(self, name: str) -> bool:
        return any(one == name or one.startswith(name + os.sep) for one in self._missing)

    def _has_files(self, name: str) -> bool:
        parts = in_parts(name)
        return any(fits(parts, pattern[: len(parts)]) for pattern in self._patterns if len(pattern) > len(parts))

    def _is_found(self, path: str) -> bool:
        parts = in_parts(path)
        return any(fits(parts, pattern) for pattern in self._patterns)

    def _read_with(self, name: str) -> Iterator[str]:
        """Yields the files of agents that are read again when this one changes. A folder in which no agent keeps such
        a file is not listed: it may have thousands, of which each write is told."""
        folder = os.path.dirname(name)  # noqa: PTH120
        parts = in_parts(folder)
        if not name.endswith(_VALUE) or not any(fits(parts, pattern[:-1]) for pattern in self._patterns):
            return
        with suppress(OSError):
            for other in os.listdir(folder):  # noqa: PTH208
                path = os.path.join(folder, other)  # noqa: PTH118
                if self._fits(path) and name.replace(os.sep, "/") in read_with(path.replace(os.sep, "/")):
                    yield path

    def _is_covered(self, folder: str) -> bool:
        if sys.platform != "linux":
            return False
        for root in self._watches:
            if folder == root.path or (root.deep and folder.startswith(root.path + os.sep)):
                # A link on the way leads to a folder that is not watched.
                return os.path.realpath(folder) == root.real + folder[len(root.path) :]
        return False


def _new_observer() -> "BaseObserver":
    """Returns the system's observer. Raises `ImportError` or `OSError` if there is none that needs no looks."""
    # That it was told twice of a folder, which happens where several are made at once, is nothing for the user.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
    # 30 ms to import, which only followers need.
    if sys.platform == "linux":
        from watchdog.observers.inotify import InotifyObserver  # noqa: PLC0415

        return InotifyObserver()
    if sys.platform == "darwin":
        from watchdog.observers.fsevents import FSEventsObserver  # noqa: PLC0415

        return FSEventsObserver()
    if sys.platform == "win32":
        from watchdog.observers.read_directory_changes import WindowsApiObserver  # noqa: PLC0415

        return WindowsApiObserver()
    raise ImportError(f"nothing tells of changes on {sys.platform}")


def _schedule(observer: "BaseObserver", watched: WatchedFolders, root: _Root) -> "ObservedWatch":
    from watchdog import events  # noqa: PLC0415

    # Not that a file was opened or closed: it is opened here, too.
    kinds: list[type[FileSystemEvent]] = [
        *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent),
        *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
    ]
    handler = cast("FileSystemEventHandler", watched)
    return observer.schedule(handler, root.real, recursive=root.deep, event_filter=kinds)


def _patterns(machine: Machine, agents: Sequence[Agent]) -> Iterator[str]:
    """Yields the glob patterns of all files that say something of conversations."""
    for agent in agents:
        if agent.processes:
            yield from agent.processes.patterns(machine)
        if agent.sessions:
            yield from agent.sessions.patterns(machine)
            yield from patterns_of(machine, agent.sessions, []) if agent.sessions.registry else ()


def _folders(patterns: Sequence[str]) -> tuple[dict[str, bool], frozenset[str]]:
    """Returns the folders in which patterns begin to choose, each with whether they also choose folders in it, and
    those of them that are not there: for these the folder in which they would be is returned."""
    found, missing = dict[str, bool](), set[str]()
    for pattern in patterns:
        parts = pattern.split("/")
        fixed = next((place for place, part in enumerate(parts) if glob.has_magic(_ESCAPED.sub("", part))), len(parts))
        is_deep = fixed < len(parts) - 1
        folder = Path(_ESCAPED.sub(r"\1", "/".join(parts[: min(fixed, len(parts) - 1)])) or "/")
        # A folder may be one that the user can't read.
        top = next((one for one in (folder, *folder.parents) if os.path.isdir(one)), None)  # noqa: PTH112
        if top is not None:
            found[str(top)] = found.get(str(top), False) or (is_deep and top == folder)
        if top != folder:
            missing.add(str(folder))
    return found, frozenset(missing)


def _is_below(one: _Root, other: _Root) -> bool:
    is_in = one.real.startswith(other.real + os.sep) or (one.real == other.real and not one.deep)
    return one != other and other.deep and is_in and other.path + one.real[len(other.real) :] == one.path


def _is_told_of(root: _Root) -> bool:
    """Returns whether the system tells of all in a folder: local, without links, with not too many folders."""
    if _is_foreign(root.real):
        return False
    if not root.deep:
        return True
    folders, found = [root.real], 1
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_symlink() and entry.is_dir():
                    return False
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    found += 1
        if found > _MOST_FOLDERS:
            return False
    return True


def _is_foreign(path: str) -> bool:
    """Returns whether a folder is on a file system to which others than this machine write."""
    if sys.platform != "linux":
        return path.startswith(("\\\\", "/Volumes/", "/Network/", "/net/"))
    try:
        mounts = read_text(_MOUNTS, LARGEST_VALUE, errors="replace")
    except OSError:
        return True
    longest, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4])
        if (path == place or path.startswith(place.rstrip("/") + "/")) and len(place) >= len(longest):
            longest, kind = place, after.split(" ")[0]
    return bool(_FOREIGN.fullmatch(kind))
