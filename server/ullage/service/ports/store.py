"""Ports to what is kept: the log of sessions, and the files of memories."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from ullage.memory.listing import MemoryEntry
from ullage.memory.paths import MemoryPath
from ullage.memory.texts import TextEdit
from ullage.model.events import Record


class SessionInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as listed, told by its events: `title`, `cwd` and `model` are what the last event says about them.

    A fork inherits `cwd` and `model` as they were where it branched off; its title is its own. `created_at` and
    `updated_at` are the timestamps of its own first and last record, Unix milliseconds. `messages` counts appended
    messages, inherited ones too. `parent_id` may name a session that is deleted. Text with half a surrogate pair
    may be shown with an escape in its place.
    """

    session_id: str
    title: str
    cwd: str
    model: str
    created_at: int
    updated_at: int
    messages: int
    parent_id: str | None = None


class StoredSession(Struct, frozen=True, kw_only=True):
    """The active part of a session: an opaque snapshot, if one was saved, and every record after it."""

    records: tuple[Record, ...]
    snapshot: bytes | None = None
    snapshot_position: int = -1


class SearchHit(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message that matches a query; `score` is higher for better, `snippet` has the matches in `**`. `index` is
    the message's number among the appended messages of the session, from 0, inherited ones included."""

    session_id: str
    message_id: str
    index: int
    role: str
    score: float
    snippet: str


class SessionStore(Protocol):
    """An append-only log per session. Synchronous: every call but a first `search` is short, and an append that
    returned survives the death of the process. Where it is not said otherwise, for one thread.

    All methods raise `StoreUnavailable` when the file cannot be used; those that name a session raise
    `SessionNotFound` if it is unknown or deleted. Positions of records handed in follow one another, or
    `InvalidRequest` is raised.
    """

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        """Starts a log with its first records (position 0 on, or, if the first event is `SessionForked`, from the
        position after the fork).

        Raises `Conflict` if the id is taken, `SessionNotFound` for a fork of an unknown session, `InvalidRequest`
        for no records or a fork position its parent does not have, `ConcurrentAppend` for a wrong first position.
        """
        ...

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        """Adds records, all or none of them. Raises `ConcurrentAppend` if the first position is not the next."""
        ...

    def open(self, session_id: str) -> StoredSession:
        """The snapshot and what came after it; everything when there is none. A fork does not inherit snapshots."""
        ...

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        """Records with `start <= position < stop`, inherited ones included."""
        ...

    def find_message(self, session_id: str, message_id: str) -> Record | None:
        """The record that appended a message of this id, inherited ones included; None if there is none."""
        ...

    def find_index(self, session_id: str, message_id: str) -> int | None:
        """The number of the message of this id among those appended, from 0, inherited ones included; None if there is
        none, the last if there are several."""
        ...

    def read_messages(self, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
        """The records that appended the messages with `start <= index < stop`, inherited ones included. Costs what
        these messages cost, however long the session is."""
        ...

    def read_edits(self, session_id: str) -> tuple[Record, ...]:
        """The records that edited the context or took an edit back, inherited ones included, oldest first."""
        ...

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        """Keeps a state that folds everything up to and including `position`; replaces an older one, and is itself
        ignored if there is a newer one. Raises `InvalidRequest` for a position the session does not have."""
        ...

    def drop_snapshot(self, session_id: str) -> None:
        """Forgets the snapshot, so that the next `open` reads everything."""
        ...

    def info(self, session_id: str) -> SessionInfo:
        """One session as listed."""
        ...

    def list(self, cwd: str | None = None, limit: int = 100, offset: int = 0) -> tuple[SessionInfo, ...]:
        """Sessions, last changed first; only those whose `cwd` is exactly this if given."""
        ...

    def delete(self, session_id: str) -> None:
        """Takes a session off the list; its records are dropped once no fork needs them."""
        ...

    def search(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[SearchHit, ...]:
        """Messages that hold words of `query`, best first: those with more of its words, rarer ones, whole names and
        phrases before others. In one session, inherited messages included, or in all, each message once. Nothing in
        a query is syntax; case and diacritics do not count.

        Any thread may call it. Raises `InvalidRequest` for a query without a word. Also indexes what is not yet
        indexed, which takes a while in a large store: call `index_some` until nothing is left to stay responsive.
        """
        ...

    def index_some(self, session_id: str | None = None) -> int:
        """Indexes a little (tens of milliseconds) of what a search of the session, or of all, will look at. Any
        thread may call it. Returns how many records are left, 0 once the index is complete."""
        ...

    def version(self) -> int:
        """A number that is another one once another process, or another opening of the store, has written to it."""
        ...

    def load_calibration(self, model: str) -> bytes | None:
        """What was learned about a model's token counts."""
        ...

    def save_calibration(self, model: str, calibration: bytes) -> None:
        """Keeps what was learned about a model's token counts."""
        ...


class MemoryFiles(Protocol):
    """The files of one memory. Synchronous; a change is whole or not made, and survives the death of the process.

    All methods raise `StoreUnavailable` when the disk refuses, and `NotFound` for a path that is neither a file nor a
    folder of the memory. What is no plain file or folder (a link, a device) is not there.
    """

    def look(self, path: MemoryPath) -> str | tuple[MemoryEntry, ...]:
        """A file's text; for a folder itself and what a listing shows of it, each folder before what it holds.
        Raises `InvalidRequest` for a file that is no text or over the limit."""
        ...

    def create(self, path: MemoryPath, text: str) -> None:
        """A new file, its folders with it. Raises `Conflict` if the name, or one that some file systems take for the
        same, is there; `InvalidRequest` for what is over a limit."""
        ...

    def edit(self, path: MemoryPath, change: Callable[[str], TextEdit]) -> TextEdit:
        """Replaces a file's text by what `change` makes of it, and gives that back. `change` may be called again if
        somebody else wrote meanwhile; `Conflict` when they do not stop. What it raises leaves the file alone."""
        ...

    def delete(self, path: MemoryPath) -> None:
        """Deletes a file, or a folder with all it holds. Raises `InvalidRequest` for the memory itself."""
        ...

    def rename(self, old: MemoryPath, new: MemoryPath) -> None:
        """Renames or moves; raises as `create` does, and `InvalidRequest` for a folder into itself."""
        ...
