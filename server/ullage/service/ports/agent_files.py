"""Ports to the files in which other programs keep their conversations, which are only ever read, and to the archive,
which has these files byte for byte."""

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from ullage.formats.parsing import Document, Line
from ullage.model.usage import LiveSessions, RateLimit


class Pieces(Enum):
    """How a large file of records is read: in large pieces after a small first one, in large pieces only, or at once.
    A session can begin with the first messages, and then the figures at the end of the file are shown."""

    SMALL_FIRST = auto()
    LARGE = auto()
    NONE = auto()


# By a table's name, the rows of a conversation in their order: each with the id of its message, and a hash.
RowsKnown = Mapping[str, Sequence[tuple[object, int]]]


class Mark(Struct, frozen=True, kw_only=True):
    """How far a file has been read, and what shows whether it is still the same file.

    `offset` is the number of bytes and `lines` the number of lines that were read; both end with a whole line. `head`
    holds the first of these bytes and `last` the last of them, at most 4,096 each. `stat` is what the operating system
    said of the file: its size, its inode and the time of its last change. It differs whenever the file has changed, and
    is empty while the file must be looked at again in any case.
    `is_text` says that the file's lines are no records. `offset` is -1 if the file can't be read in pieces: a database,
    a folder or a compressed file. `rows` are those of a conversation in a database.
    """

    offset: int = -1
    lines: int = 0
    head: bytes = b""
    last: bytes = b""
    stat: tuple[int, ...] = ()
    is_text: bool = False
    rows: RowsKnown | None = None


class Appended(Struct, frozen=True, kw_only=True):
    """The file has grown by these whole lines, maybe none. `more` says that the next call returns further ones.
    `companions` are, if there are no more, the files beside it that have reports (`Agent.reports_beside`)."""

    lines: tuple[Line, ...]
    mark: Mark
    more: bool = False
    companions: tuple[Document, ...] = ()


class Replaced(Struct, frozen=True, kw_only=True):
    """The file is new, or what was read of it is no longer in it: it was shortened, rewritten or replaced. `more` says
    that the document is the beginning of the file, and that the next call returns further lines."""

    document: Document
    mark: Mark
    more: bool = False


class LastRows(Struct, frozen=True, kw_only=True):
    """Only the last messages of a conversation in a database have changed, or the conversation's own row: the document
    has that, all rows of the last messages, and those of further ones."""

    document: Document
    mark: Mark


class OtherRows(Struct, frozen=True, kw_only=True):
    """A database has changed, but not the conversation."""

    mark: Mark


class Missing(Struct, frozen=True, kw_only=True):
    """There is no such file now, or no such conversation in the database."""


Growth = Appended | Replaced | LastRows | OtherRows | Missing | None


class TranscriptFiles(Protocol):
    """Reads transcripts. Methods may be called from any thread."""

    def has_changed(self, path: Path, mark: Mark | None) -> bool:
        """Returns whether a file has changed since `mark`, or is no longer there. Takes microseconds."""
        ...

    def stat(self, path: Path) -> tuple[int, ...]:
        """Returns what `Mark.stat` is for a file that is read to its end now; an empty tuple if there is none."""
        ...

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        """Returns what has happened to a file since `mark`, or None if nothing has. Without a mark the file is returned
        from its beginning. A large file of records comes in pieces, one for each call, as `pieces` says.
        Of a database only the conversation is read to which the agent gave the id `origin_id`, unless that is "". A
        line that isn't written to its end yet is left for a later call. Raises `InvalidRequest` if the file can't be
        read."""
        ...

    def size(self, path: Path) -> int:
        """Returns the size of a file in bytes, 0 if there is none."""
        ...

    def ends(self, path: Path) -> bytes:
        """Returns a digest of a file's first and last bytes, b"" if it can't be read or is not one file."""
        ...

    def digest(self, path: Path, size: int) -> bytes:
        """Returns the SHA-256 digest of a file's first `size` bytes, b"" if it has fewer or can't be read."""
        ...

    def quiet_for(self, path: Path) -> float:
        """Returns the seconds since a file was last written, by the system's clock; 0 if that is not known."""
        ...

    def read_ends(self, path: Path, most: int) -> Document | None:
        """Returns the first record of a file of records and those in its last `most` bytes. Returns None for a file
        that is not larger, for any other file, and for one that can't be read."""
        ...


class OwnFiles(Protocol):
    """Knows the files in which coding agents on this machine keep their conversations. Never raises."""

    def path_of(self, path: str) -> str:
        """Returns the path under which an agent keeps `path`, or "". Blocks while it looks through folders."""
        ...

    def has(self, path: str) -> bool:
        """Returns whether an agent's file is there; False for "". Takes microseconds."""
        ...


class NoOwnFiles:
    """A machine without agents, or a store whose sessions are all copies."""

    def path_of(self, path: str) -> str:  # noqa: ARG002 - the port's parameter
        return ""

    def has(self, path: str) -> bool:  # noqa: ARG002 - the port's parameter
        return False


class FoundFile(Struct, frozen=True, kw_only=True):
    """A transcript of an agent. `run` is the conversation's number in a file that holds several, counted from 1, or
    None. `agent` is the agent's name and `origin_id` its own id of the conversation, empty if not known. `is_side` says
    whether it is a sub-agent's, as far as its path and its first records show it."""

    path: Path
    run: int | None = None
    agent: str = ""
    origin_id: str = ""
    is_side: bool = False


class FindChanged(Protocol):
    """Finds transcripts that continue."""

    def __call__(self, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        """Returns the transcripts changed in the last `seconds`, sub-agents' last. `paths`: in these alone."""
        ...


class Changes(Struct, frozen=True, kw_only=True):
    """What has changed: the files at `paths`; `is_anywhere`, that other files may have come or gone; `is_own`, that the
    store, the catalogue or the list of hooks was written; `is_ended`, that a process has ended (`tells_end_of`)."""

    paths: frozenset[str] = frozenset()
    is_anywhere: bool = False
    is_own: bool = False
    is_ended: bool = False


class WatchesFiles(Protocol):
    """Tells which of agents' files change, as far as the operating system says it. What it does not say has to be
    looked at. `is_complete` says that nothing has to be searched: a new file is told."""

    is_complete: bool

    def begin(self, wake: Callable[[], object], /) -> None:
        """Begins. `wake` is called, by any thread, when `changes` has something after it had nothing. Blocks."""
        ...

    def arrange(self) -> None:
        """Watches the folders that are there now. To be called when something may have changed anywhere. Blocks."""
        ...

    def changes(self) -> Changes:
        """Returns what has changed since the last call."""
        ...

    def covers(self, path: Path, /) -> bool:
        """Returns whether each write to a file is told. Takes microseconds."""
        ...

    def tells_end_of(self, process_id: int, /) -> bool:
        """Returns whether it is told when a process ends. To be called by the thread of the event loop."""
        ...

    def distrust(self) -> None:
        """Has everything looked at from now on: a change was not told."""
        ...

    def end(self) -> None:
        """Ends. To be called by the thread of the event loop, which it blocks for a moment."""
        ...


class Lease(Protocol):
    """What one process at a time holds: that it follows the agents' conversations into a store."""

    def take(self) -> bool:
        """Takes the lease if no other process holds it. Returns whether this process holds it now."""
        ...

    def give_up(self) -> None:
        """Lets another process take the lease. Does nothing if this process does not hold it."""
        ...


# Returns the processes of agents that say which conversations they have, by the agent's name and its own id of the
# conversation. A process is None if the agent says that it had the conversation and it has ended.
FindProcesses = Callable[[], Mapping[tuple[str, str], int | None]]
# Returns the compactions that agents have said to begin, and have said nothing after: by the agent's own id of the
# conversation, when it began, in Unix milliseconds. Takes microseconds if nothing has changed.
FindCompactions = Callable[[], Mapping[str, int]]


class LiveFile(Protocol):
    """The file in which the process that follows shows the others what it follows."""

    def write(self, sessions: LiveSessions) -> None:
        """Replaces the file at once as a whole. Raises `StoreError` if that fails; the old file is then kept."""
        ...

    def read(self) -> LiveSessions | None:
        """Returns what the file says, or None if it has not changed since the last call, or can't be read."""
        ...


class ToldWindow(Struct, frozen=True):
    """The window, in tokens, that an agent said to its status line last, and when, in Unix milliseconds."""

    size: int
    at: int


# Takes an agent's own id of a conversation. Returns the window that the agent says in it to its status line, or None if
# it is not known. Takes microseconds if nothing has changed.
ReadToldWindow = Callable[[str], ToldWindow | None]
# Takes an agent's own id of a conversation. Returns what the agent said last in it of the limits of the user's
# subscription. Takes microseconds if nothing has changed.
ReadRateLimits = Callable[[str], tuple[RateLimit, ...]]


class KeptReading(Struct, frozen=True, kw_only=True):
    """A reading of a file as it was at some place, from which another process can continue.

    `path` and `origin_id` are those of the `FoundFile`. `state` is the reading's (`OpenReading.state`), in the format
    with the name `format`. `mark` is how far the file had been read, without a `stat`, and `digest` the SHA-256 digest
    of what was read. `messages` and `title` are what was read until then into the session.
    """

    path: str
    origin_id: str
    session_id: str
    format: str
    messages: int
    title: str
    mark: Mark
    digest: bytes
    state: bytes


class KeptReadings(Protocol):
    """The readings of files, kept next to one store. Methods may be called from any thread."""

    def read(self, found: FoundFile) -> KeptReading | None:
        """Returns the reading of a file; None if missing, damaged, or of another version of Ullage."""
        ...

    def write(self, reading: KeptReading) -> None:
        """Keeps a reading in place of the file's earlier one. The oldest go if there are many. Raises `StoreError`."""
        ...


class ReadFile(Struct, frozen=True, kw_only=True):
    """A file whose session has all that was read of it, as it was then.

    `path` and `origin_id` are those of the `FoundFile`. `stat` is what the operating system said of it before it was
    read, and `ends` a digest of its first and its last bytes. `messages` counts the session's messages.
    """

    path: str
    origin_id: str
    session_id: str
    messages: int
    stat: tuple[int, ...]
    ends: bytes


class ReadFiles(Protocol):
    """The list of the files that were read whole into one store. Only the process that follows writes it."""

    def read(self) -> Sequence[ReadFile]:
        """Returns the list; empty if missing, damaged, or of another version of Ullage."""
        ...

    def write(self, files: Sequence[ReadFile]) -> None:
        """Replaces the list at once as a whole. Raises `StoreError` if that fails; the old list is then kept."""
        ...


class AgentPorts(Struct, frozen=True, kw_only=True):
    """The ports that a follower needs in addition to a workspace's. `process_id` is that of this process. `read_older`
    reads the conversations that have not changed for long, so that a search finds them; None if they are not read.
    `close` is called when following ends."""

    files: TranscriptFiles
    find: FindChanged
    lease: Lease
    processes: FindProcesses
    compactions: FindCompactions
    live: LiveFile
    read: ReadFiles
    readings: KeptReadings
    process_id: int
    watching: WatchesFiles
    read_older: Callable[[], Coroutine[Any, Any, None]] | None = None
    close: Callable[[], object] = lambda: None


class GivenBack(Struct, frozen=True, kw_only=True):
    """A text that a hook gave an agent, `at` a time in Unix milliseconds.

    `why` is `compact` at the restart after a compaction, `resume` when the session was resumed, `prompt` at the next
    prompt, and `fill` for a note of how full the context is. `counts` has how many losses of each kind are in the text.
    `characters` are UTF-16 units, `tokens` an estimate.
    """

    at: int
    why: str
    counts: dict[str, int]
    characters: int
    tokens: int
    text: str


# Returns what hooks gave back to the session to which its agent gave this id, the oldest first.
ReadsReceipts = Callable[[str], Sequence[GivenBack]]


class RemovesTraces(Protocol):
    """Removes what is kept of an agent's session outside the store of sessions."""

    def __call__(self, agent_session_id: str, path: str, /) -> None:
        """Removes what belongs to the session in the agent's file at `path`, but not what the archive has."""
        ...

    def remove_kept(self, agent_session_id: str, path: str, /) -> None:
        """Removes what the archive has of it. Blocks, and may be called from any thread. Raises `StoreError`."""
        ...


class NoTraces:
    """Removes nothing: in a process that keeps nothing next to its store."""

    def __call__(self, _: str, __: str, /) -> None:
        pass

    def remove_kept(self, _: str, __: str, /) -> None:
        pass


def no_receipts(_: str, /) -> Sequence[GivenBack]:
    """Reads nothing: in a process that knows of no hooks."""
    return ()


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
    in bytes, and `changed_at` the time at which the last of them changed, in Unix milliseconds; of a file that grows,
    that at which its last bytes were kept. `frees` is about the bytes by which the archive shrinks if it is removed
    after all that have not changed for longer.
    """

    path: str
    agent: str
    origin_id: str
    session_ids: tuple[str, ...]
    files: int
    size: int
    changed_at: int
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

    def read(self, version_id: int) -> Iterator[bytes]: ...

    def stats(self) -> Mapping[str, tuple[int, ...]]:
        """Returns the status of each file that was kept as a whole, and of those that were removed, by path."""
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


class KeptPorts(Struct, frozen=True, kw_only=True):
    """The ports that a keeper needs. `open` opens the archive, and raises `StoreUnavailable`. `is_wanted` returns
    whether the user has said by now that files are to be kept. `find` returns the conversations' own files of all
    agents on this machine, the oldest first."""

    open: Callable[[], Originals]
    files: OriginalFiles
    find: Callable[[], Sequence[Source]]
    is_wanted: Callable[[], bool] = lambda: True
