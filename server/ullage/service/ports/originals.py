"""Ports to the archive, which has agents' files byte for byte, and to these files, which are only ever read."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Source(Struct, frozen=True, kw_only=True):
    """A file that is kept. `path` is absolute. `agent` is the name of the agent that writes it and `origin_id` that
    agent's id of the conversation; either may be "". `owner` is the path of the conversation's own file if this one
    belongs to it (a sub-agent's, a tool's result), else "".

    The rows of a conversation in a database are kept as a file, one row a line, whose `path` is made up (`kept_path`).
    `changed_at` is the time at which the agent says that it last changed these, in Unix milliseconds; 0 if not known.
    """

    path: str
    agent: str = ""
    origin_id: str = ""
    owner: str = ""
    changed_at: int = 0


class Kept(Struct, frozen=True, kw_only=True):
    """What the archive has of a file: its newest version.

    `size` is in bytes. `mark` is a digest of both ends of it, made by the keeper. `stat` is what the operating system
    said of the file when all of it was kept, else empty. `digest` is the SHA-256 digest of the first `checked` bytes.
    `began_at` is Unix milliseconds.
    """

    version_id: int
    size: int
    mark: bytes
    stat: tuple[int, ...]
    digest: bytes
    checked: int
    began_at: int


class Version(Struct, frozen=True, kw_only=True):
    """A version of an original, as it is listed. `number` counts from 1. `kept_at` is the time of the last bytes, in
    Unix milliseconds; `digest` as in `Kept`, if it covers the whole version, else empty."""

    version_id: int
    number: int
    size: int
    kept_at: int
    digest: bytes


class Original(Struct, frozen=True, kw_only=True):
    """A file in the archive with its versions, oldest first."""

    source: Source
    versions: tuple[Version, ...]


class Room(Struct, frozen=True, kw_only=True):
    """The room that the originals of one agent take. `files` counts them, `versions` counts their versions. `size` is
    the sum of the versions in bytes, and `stored` the bytes they take in the archive, without indexes."""

    agent: str
    files: int
    versions: int
    size: int
    stored: int


class KeptConversation(Struct, frozen=True, kw_only=True):
    """A conversation in the archive. `path` is its own file's, and `agent` and `origin_id` are as in `Source`.

    `session_ids` are the sessions that were read from it. `files` counts its files, `size` is the sum of their versions
    in bytes, and `kept_at` the time at which the last of them was kept, in Unix milliseconds. `frees` is about the
    bytes by which the archive shrinks if it is removed after all that have not changed for longer.
    """

    path: str
    agent: str
    origin_id: str
    session_ids: tuple[str, ...]
    files: int
    size: int
    kept_at: int
    frees: int


class Originals(Protocol):
    """The archive. All methods block, one at a time, from any thread. What a method has stored survives the death of
    the process. All raise `StoreUnavailable` if the archive can't be used, or its disk is full."""

    def close(self) -> None:
        """Closes the archive. No other method may be called afterwards."""
        ...

    def latest(self, path: str) -> Kept | None:
        """Returns what is kept of a file, or None if nothing is."""
        ...

    def begin(self, source: Source, replaced: int | None = None) -> Kept:
        """Begins a version of a file, still empty. Earlier ones are kept, except the version `replaced`."""
        ...

    def append(self, version_id: int, start: int, data: bytes, mark: bytes, *, pack: bool) -> Kept:
        """Appends bytes to a version of `start` bytes, all of them or none; to one of another size,
        none. `mark` is a digest of both ends of what is kept then. If `pack` is true, the bytes are compressed at once;
        otherwise when there are enough, or by `pack`."""
        ...

    def settle(self, version_id: int, stat: tuple[int, ...], digest: bytes) -> Kept:
        """Notes that a version is whole: the file as the operating system described it by `stat`. `digest` is the
        SHA-256 digest of its bytes; b"" leaves the one before."""
        ...

    def pack(self, path: str = "") -> None:
        """Compresses what was appended without `pack`, to one file or to all."""
        ...

    def link(self, path: str, session_id: str) -> None:
        """Notes that a session was read from a file."""
        ...

    def find(self, path: str = "", session_id: str = "", origin_id: str = "") -> tuple[Original, ...]:
        """Returns the originals with this path, or those of this session, or those whose agent's id of the conversation
        begins with `origin_id`; each with the files that belong to it after it."""
        ...

    def read(self, version_id: int) -> Iterator[bytes]:
        """Yields the bytes of a version."""
        ...

    def stats(self) -> Mapping[str, tuple[int, ...]]:
        """Returns what the operating system said of each file that was kept as a whole, and of those that were removed,
        by path."""
        ...

    def conversations(self) -> tuple[KeptConversation, ...]:
        """Returns all conversations, those first that have not changed for the longest time."""
        ...

    def remove(self, paths: Collection[str]) -> None:
        """Removes the conversations whose own files have these paths, and overwrites what they have left in the
        archive's file. One after the other: those that were removed before an error stay removed. Files are kept again
        when they change."""
        ...

    def count(self) -> int:
        """Returns the number of conversations."""
        ...

    def rooms(self) -> tuple[Room, ...]:
        """Returns the room that each agent's originals take, the largest first."""
        ...

    def size(self) -> int:
        """Returns the size of the archive's file in bytes."""
        ...


class OpenFile(Protocol):
    """An agent's file, open for reading. `stat` is what the operating system said of it when it was opened."""

    stat: tuple[int, ...]

    def read(self, start: int, most: int) -> bytes:
        """Returns at most so many bytes from `start` on."""
        ...


class OriginalFiles(Protocol):
    """Reads agents' files. Methods may be called from any thread."""

    def stat(self, path: str) -> tuple[int, ...]:
        """Returns what the operating system says of a file: its size, its inode and the time of its last change.
        Returns an empty tuple if there is no such file. Of a conversation in a database, the time is the database's,
        the inode is 0, and the size is 1 until the rows were read."""
        ...

    def opened(self, path: str) -> AbstractContextManager[OpenFile]:
        """Opens a file. Raises `OSError`."""
        ...

    def beside(self, path: str) -> Sequence[Path]:
        """Returns the files that belong to a conversation's own file."""
        ...


class FindOriginals(Protocol):
    """Finds agents' files."""

    def __call__(self) -> Sequence[Source]:
        """Returns the conversations' own files of all agents on this machine, the oldest first."""
        ...


class KeptPorts(Struct, frozen=True, kw_only=True):
    """The ports that a keeper needs. `open` opens the archive, and raises `StoreUnavailable`. `is_wanted` returns
    whether the user has said by now that files are to be kept."""

    open: Callable[[], Originals]
    files: OriginalFiles
    find: FindOriginals
    is_wanted: Callable[[], bool] = lambda: True
