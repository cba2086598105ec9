"""A memory in a folder on disk, its limits, and the lock under which it is changed; the user's and each project's are
next to the store's file.

Two classes implement `Folder`: `DescriptorFolder` for systems that open a name relative to an open folder (Linux,
macOS), `PathFolder` for the others (Windows)."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from msgspec import Struct

from ullage.bounds import open_plain
from ullage.host.side_files import MEMORIES, data_folder
from ullage.memory.memory_tool import DEPTH, LEVELS, MemoryEntry, MemoryPath, TextEdit, folded, is_listed
from ullage.model.errors import Conflict, InvalidRequest, NotFound, StoreUnavailable

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


# Each try fails only if another program writes between reading a file and replacing it.
_ATTEMPTS = 4
Open = Callable[[Path], AbstractContextManager[Folder]]
# Hidden, and no name that a path of a memory may hold: a file half written, or a folder half deleted.
_UNFINISHED = ".ullage-"
# Seconds between two tries to get the lock: a change takes a few milliseconds.
_POLL = 0.005

open_folder: Open = DescriptorFolder.open if is_supported() else PathFolder.open


class MemoryLimits(Struct, frozen=True, kw_only=True):
    """The most that one memory may hold: bytes of one file, bytes of all files together, and the number of files and
    folders.

    A model reads the memory, so a file much longer than a context window is useless; the totals keep a model that
    writes in a loop from filling the disk.
    """

    file_bytes: int = 256 * 1024
    total_bytes: int = 16 * 1024 * 1024
    entries: int = 1_000


@contextmanager
def opened(base: Path, open_base: Open) -> Generator[Folder]:
    """Opens the base folder of a memory, which is made if it is missing, and yields it. Links on the way to it are
    followed, because the user chose the path. Raises `OSError` if the folder cannot be made or opened."""
    base.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with open_base(base) as folder:
        yield folder


@contextmanager
def locked(base: Path, open_base: Open) -> Generator[Folder]:
    """Opens the base folder of a memory for a change and yields it. Other threads and processes of Ullage that want to
    change the memory wait until the `with` block ends.

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
    """Returns a new hidden name for a file that is not complete yet, or a folder that is being deleted."""
    return _UNFINISHED + secrets.token_hex(8)


class FolderMemory:
    """One memory, implementing the port `MemoryFiles`, in the folder `base`, which is made when first used.

    A file that another program changes between reading and replacing is noticed and read again. Files are replaced,
    never written into, so a hard link elsewhere keeps its text. `open_base` opens the base folder; by default it is the
    safest way that the system has (`open_folder`).
    """

    def __init__(self, base: Path, limits: MemoryLimits | None = None, open_base: Open = open_folder) -> None:
        self._base = base
        self._limits = limits or MemoryLimits()
        self._open_base = open_base

    def look(self, path: MemoryPath) -> str | tuple[MemoryEntry, ...]:
        with _worded(path), opened(self._base, self._open_base) as base:
            if not path.parts:
                return tuple(_listing(path, list(walk(base))))
            with folder_at(base, path.parent.parts) as parent:
                if stat.S_ISDIR(parent.status(path.name).st_mode):
                    with parent.enter(path.name) as folder:
                        return tuple(_listing(path, list(walk(folder))))
                return self._read(path, parent)[0]

    def create(self, path: MemoryPath, text: str) -> None:
        if not path.parts:
            raise Conflict(f"Error: File {path} already exists")
        data = self._encode(path, text)
        with _worded(path), locked(self._base, self._open_base) as base:
            self._check_room(list(walk(base)), path, len(data))
            with _made(base, path.parent) as parent:
                _check_free(parent, path.name, f"File {path}")
                _place(base, parent, path.name, data)

    def edit(self, path: MemoryPath, change: Callable[[str], TextEdit]) -> TextEdit:
        with _worded(path), locked(self._base, self._open_base) as base, folder_at(base, path.parent.parts) as parent:
            if not path.parts:
                raise _no_such(path)
            for _ in range(_ATTEMPTS):
                text, before = self._read(path, parent)
                edit = change(text)
                data = self._encode(path, edit.text)
                self._check_room(list(walk(base)), path, len(data) - before.st_size)
                if _state(parent.status(path.name)) == _state(before):
                    _place(base, parent, path.name, data)
                    return edit
        raise Conflict(f"Error: The file {path} is being changed by another program; try again")

    def delete(self, path: MemoryPath) -> None:
        if not path.parts:
            raise InvalidRequest(f"Error: {path} itself cannot be deleted; delete what is in it")
        with _worded(path), locked(self._base, self._open_base) as base, folder_at(base, path.parent.parts) as parent:
            parent.status(path.name)
            # Readers see the folder disappear at once, however long removing its files takes.
            doomed = unfinished_name()
            parent.move(path.name, base, doomed)
            base.remove(doomed)

    def rename(self, old: MemoryPath, new: MemoryPath) -> None:
        if not old.parts:
            raise InvalidRequest(f"Error: {old} itself cannot be renamed")
        if new != old and new.parts[: len(old.parts)] == old.parts:
            raise InvalidRequest(f"Error: {old} cannot be moved into itself, to {new}")
        with _worded(old), locked(self._base, self._open_base) as base, folder_at(base, old.parent.parts) as source:
            source.status(old.name)
            found = list(walk(base))
            _check_depth(found, old, new)
            self._check_room(found, new.parent, 0)
            with _made(base, new.parent) as target:
                # In its own folder a name may change its spelling, to what some file systems take for the same.
                itself = old.name if old.parent == new.parent and old != new else ""
                _check_free(target, new.name, f"The destination {new}", itself)
                source.move(old.name, target, new.name)

    def _read(self, path: MemoryPath, parent: Folder) -> tuple[str, os.stat_result]:
        """Returns the text of the file `path` in its folder, and its status when it was read. Raises `InvalidRequest`
        if the file is over the size limit or not UTF-8."""
        most = self._limits.file_bytes
        data, info = parent.read(path.name, most + 1)
        if len(data) > most:
            raise InvalidRequest(f"Error: The file {path} is over the limit of {most:,} bytes")
        try:
            return data.decode(), info
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"Error: The file {path} is not text in UTF-8") from error

    def _encode(self, path: MemoryPath, text: str) -> bytes:
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"Error: The text for {path} holds half of a surrogate pair") from error
        if len(data) > self._limits.file_bytes:
            raise InvalidRequest(
                f"Error: The file {path} would take {len(data):,} bytes of at most {self._limits.file_bytes:,}; "
                "keep it shorter or split it"
            )
        return data

    def _check_room(self, found: Sequence[Found], path: MemoryPath, added: int) -> None:
        """Raises `InvalidRequest` if `added` more bytes would exceed the memory's limit of bytes, or if the files and
        folders on `path` that do not exist yet would exceed its limit of entries. `found` is everything in the memory.
        """
        limits = self._limits
        if added > 0 and sum(entry.size for entry in found) + added > limits.total_bytes:
            raise InvalidRequest(
                f"Error: The memory is full ({limits.total_bytes:,} bytes); delete files that are no longer needed"
            )
        names = {entry.parts for entry in found}
        names_added = sum(path.parts[:depth] not in names for depth in range(1, len(path.parts) + 1))
        if names_added and len(names) + names_added > limits.entries:
            raise InvalidRequest(
                f"Error: The memory holds {limits.entries:,} files and folders, the most it may; "
                "delete what is no longer needed"
            )


@contextmanager
def _worded(path: MemoryPath) -> Generator[None]:
    """Converts `OSError` to an error for a model: `NotFound` without anything at `path`, or `StoreUnavailable`."""
    try:
        yield
    except OSError as error:
        # A link where a name should be is refused with ELOOP or ENOTDIR.
        if error.errno in (None, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR):
            raise _no_such(path) from error
        raise StoreUnavailable(f"Error: {path} cannot be used now: {error.strerror}") from error


def _no_such(path: MemoryPath) -> NotFound:
    return NotFound(f"Error: The path {path} does not exist. Please provide a valid path.")


@contextmanager
def _made(base: Folder, path: MemoryPath) -> Generator[Folder]:
    """Makes the folder `path` with its parents and yields it opened. Raises `Conflict` if a part is a file."""
    with ExitStack() as stack:
        current = base
        for depth, name in enumerate(path.parts):
            here = MemoryPath(parts=path.parts[: depth + 1])
            if name not in current.names():
                _check_free(current, name, str(here))
                current.make_folder(name)
            elif not stat.S_ISDIR(current.status(name).st_mode):
                raise Conflict(f"Error: {here} is a file, not a folder")
            current = stack.enter_context(current.enter(name))
        yield current


def _check_free(folder: Folder, name: str, what: str, itself: str = "") -> None:
    """Raises `Conflict` if the folder has `name`, or a name that some file systems take for it (for example in other
    case). `what` is the path in the error. `itself` is a name that is allowed: the old name of the file that is being
    renamed."""
    key = folded(name)
    for other in folder.names():
        if other != itself and folded(other) == key:
            spelled = "" if other == name else f", spelled {other!r}"
            raise Conflict(f"Error: {what} already exists{spelled}")


def _check_depth(found: Sequence[Found], old: MemoryPath, new: MemoryPath) -> None:
    length = len(old.parts)
    deepest = max((len(entry.parts) for entry in found if entry.parts[:length] == old.parts), default=length)
    if len(new.parts) + deepest - length > DEPTH:
        raise InvalidRequest(f"Error: What {old} holds would lie too deep in {new}; at most {DEPTH} names are allowed")


def _place(base: Folder, parent: Folder, name: str, data: bytes) -> None:
    """Writes the complete file `name` in the folder `parent`. If that fails, nothing has changed."""
    fresh = unfinished_name()
    try:
        base.write_new(fresh, data)
        base.move(fresh, parent, name)
    except BaseException:
        base.remove(fresh)
        raise


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


def _listing(folder: MemoryPath, found: Sequence[Found]) -> Iterator[MemoryEntry]:
    """Yields the entries of a listing of `folder`: the folder itself, then what it holds down to `LEVELS` levels,
    without the names that `is_listed` refuses. A folder's size is the bytes of all files in it."""
    sizes: dict[tuple[str, ...], int] = {}
    for entry in found:
        for depth in range(len(entry.parts)):
            above = entry.parts[:depth]
            sizes[above] = sizes.get(above, 0) + entry.size
    yield MemoryEntry(path=folder, size=sizes.get((), 0), is_folder=True)
    for entry in found:
        if len(entry.parts) <= LEVELS and all(map(is_listed, entry.parts)):
            size = sizes.get(entry.parts, 0) if entry.is_folder else entry.size
            path = MemoryPath(parts=folder.parts + entry.parts)
            yield MemoryEntry(path=path, size=size, is_folder=entry.is_folder)


_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


def memory_base(cwd: str | None = None, data: Path | None = None) -> Path:
    """Returns the base folder of the memory of the project at `cwd`, or of the user's own memory if `cwd` is None.

    It is in the user's data folder, or in `data` if that is given, not in the project: a checkout that comes from
    elsewhere brings no memory with it. A project is known by its folder's real path, so that a link to it leads to the
    same memory.
    """
    root = (data or data_folder()) / MEMORIES
    if cwd is None:
        return root / "user"
    real = Path(cwd).resolve()
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return root / "projects" / f"{_PLAIN.sub('-', real.name)[:40]}-{digest}"


def project_memory(cwd: str, store_path: Path | None) -> FolderMemory:
    """Returns the memory of the project at `cwd`, or the user's own if `cwd` is empty. Its files are in the folder of
    the store at `store_path`, or in the user's data folder if that is None."""
    return FolderMemory(memory_base(cwd or None, store_path.absolute().parent if store_path else None))
