"""Ports to storage: the logs of sessions, the files of memories, and a team's archive."""

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, Protocol

from msgspec import Struct

from ullage.memory.memory_tool import MemoryEntry, MemoryPath, TextEdit
from ullage.model.events import Record

# A limit that no store reaches.
ALL_SESSIONS = 1 << 40


class SessionInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as it is listed. `title`, `cwd` and `model` have the values of the last event that sets them.

    A fork inherits `cwd` and `model` as they were at the fork; its title is its own. `created_at` and `updated_at` are
    the times of its own first and last record, in Unix milliseconds. `messages` counts appended messages, inherited
    ones included. `parent_id` is the session that it was forked from, which may be deleted; None if it is no fork. A
    lone surrogate in a text may be replaced by an escape.
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
    """A session as `SessionStore.open` reads it: a saved snapshot, as opaque bytes, and every record after its
    position. Without a snapshot `records` is the whole log and `snapshot_position` is -1."""

    records: tuple[Record, ...]
    snapshot: bytes | None = None
    snapshot_position: int = -1


class ImportedSession(Struct, frozen=True, kw_only=True):
    """A session that was imported, with what its import said of its origin (`ConversationImported`)."""

    session_id: str
    format: str
    origin_id: str
    agent: str = ""
    parent_id: str = ""
    is_sub_agent: bool = False
    path: str = ""


class AttachedSession(Struct, frozen=True, kw_only=True):
    """A session that an agent behind the proxy has, with every id that the agent has had of it (`AgentAttached`), each
    once and in the order of the last time; the last one is the one in use."""

    session_id: str
    title: str
    agent_ids: tuple[str, ...]


class SearchHit(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message that matches a search. A higher `score` is better. `snippet` marks the matches by `**`. `index` is the
    message's index in the transcript, as in `Entry`, inherited messages included. `role` is `tool` for results of
    tools and `agent` for what an agent's program wrote: models are sent both with the user's role. `fits` says whether
    the message has most of the query's words near each other; one that does not is seldom what was searched for. A hit
    may still be in the context: the `Entry` of its message says whether it is `archived`."""

    session_id: str
    message_id: str
    index: int
    role: str
    score: float
    snippet: str
    fits: bool = True


# The id of a message's record in the store, and the number of a chunk of the message, from 0.
ChunkId = tuple[int, int]


class Passage(Struct, frozen=True, kw_only=True):
    """The part of a message that matches a search best: chunk number `chunk`, from 0, of the message in the record
    `record_id`, with its whole text. `has_half` says whether the message has half of the query's words anywhere."""

    hit: SearchHit
    record_id: int
    chunk: int
    text: str
    has_half: bool = True

    @property
    def id(self) -> ChunkId:
        return self.record_id, self.chunk


class StoreNews(Struct, frozen=True, kw_only=True):
    """What a user should know of the store: that its server can't be reached (`offline`), that all was sent to it
    (`caught_up`), or that another machine has continued a session, too (`forked`).

    `moved` has the sessions that are other ones since, with the session that has what this machine has written.
    """

    kind: Literal["offline", "caught_up", "forked"]
    text: str
    moved: Mapping[str, str] = {}


# Returns what has happened since the last call. May be called from the store's thread only.
TakesNews = Callable[[], Sequence[StoreNews]]


def no_news() -> Sequence[StoreNews]:
    """Returns nothing: for a store that is never away."""
    return ()


class SessionStore(Protocol):
    """The store of sessions: an append-only log per session. All methods block. Every call is short except a first
    `search`. A returned append survives the death of the process. Any thread may call its methods; where their
    docstring does not say otherwise, threads wait for each other.

    All methods raise `StoreUnavailable` if the file cannot be used. Methods that name a session raise `SessionNotFound`
    if the session is unknown or deleted. The positions of given records must follow one another, else `InvalidRequest`
    is raised.
    """

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        """Creates a log with its first records. The first position is 0, or for a fork (first event `SessionForked`)
        the position after the fork.

        Raises `Conflict` if the id is taken, `SessionNotFound` if the fork's parent is unknown, `InvalidRequest` if
        there are no records or the parent lacks the fork's position, and `ConcurrentAppend` if the first position is
        wrong.
        """
        ...

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        """Appends all records or none. Raises `ConcurrentAppend` if the first position is not the log's next."""
        ...

    def open(self, session_id: str) -> StoredSession:
        """Returns the snapshot and the records after it, or all records. A fork does not inherit snapshots."""
        ...

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        """Returns the records with `start <= position < stop` (None: the end), inherited ones too."""
        ...

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        """Returns all records, inherited ones too. Any thread may call it: a long log takes half a second."""
        ...

    def find_message(self, session_id: str, message_id: str) -> Record | None:
        """Returns the record that appended the message with this id, also an inherited one, or None."""
        ...

    def find_index(self, session_id: str, message_id: str) -> int | None:
        """Returns the index of the message with this id among the appended messages, from 0, inherited ones included.
        Returns None if there is no such message, and the last index if there are several."""
        ...

    def read_messages(self, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
        """Returns the records of the appended messages with `start <= index < stop`, inherited ones included. The
        cost does not depend on the length of the session."""
        ...

    def read_edits(self, session_id: str) -> tuple[Record, ...]:
        """Returns the records that make, undo or redo an edit, inherited ones included, oldest first."""
        ...

    def read_imports(self, session_id: str) -> tuple[Record, ...]:
        """Returns the records of imports (`ConversationImported`), inherited ones included, oldest first. No other
        record is decoded."""
        ...

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        """Saves a snapshot of the log up to and including `position`. A newer snapshot replaces an older one; an
        older one is ignored. Raises `InvalidRequest` if the session has no such position."""
        ...

    def drop_snapshot(self, session_id: str) -> None:
        """Deletes the snapshot, so that the next `open` returns the whole log."""
        ...

    def info(self, session_id: str) -> SessionInfo:
        """Returns one session as listed."""
        ...

    def list(self, cwd: str | None = None, limit: int = 100, offset: int = 0) -> tuple[SessionInfo, ...]:
        """Returns at most `limit` listed sessions after `offset`, last changed first; with `cwd`, of that folder."""
        ...

    def find_ids(self, prefix: str, limit: int = 100) -> tuple[str, ...]:
        """Returns the ids of at most `limit` listed sessions that begin with `prefix`, in alphabetical order."""
        ...

    def sessions_with(self, message_id: str) -> tuple[str, ...]:
        """Returns the listed sessions that have themselves appended a message with this id, last created first."""
        ...

    def imported(self) -> tuple[ImportedSession, ...]:
        """Returns the listed sessions that were imported, the last created first. Forks of them are left out."""
        ...

    def attached(self) -> tuple[AttachedSession, ...]:
        """Returns the listed sessions of agents behind the proxy if the agent has had another id for them than their
        own, the last created first. Before a compaction the agent has one id of a session, which is the session's
        own."""
        ...

    def delete(self, session_id: str) -> None:
        """Removes a session from the list. Its records are deleted once no fork needs them, which may be at once."""
        ...

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        """Overwrites what deleted records have left in the store's files on this machine: words of the index, free
        pages and the write-ahead log. With `rewrite`, also what versions of Ullage have left that didn't overwrite what
        they deleted; the store's whole file is then written again, and other writers wait.

        Blocks. May be called from any thread. Raises `StoreUnavailable`, also if another process reads for so long that
        the write-ahead log can't be emptied.
        """
        ...

    def search(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[SearchHit, ...]:
        """Returns the messages that contain words of `query`, best first. More matching words, rare words, whole names
        and phrases make a match better, and so do, for a short message, the words of the messages around it. A question
        also finds messages without its words, next to one with most of them. Searches one session, inherited messages
        included, or all sessions with each message once. A query has no syntax; case and diacritics are ignored. A name
        that is nowhere is searched in other spellings, and a name or word that is nowhere as a beginning.

        May be called from any thread. Raises `InvalidRequest` if the query has no word. Also indexes everything that is
        not indexed yet, which takes long in a large store; `find_passages` does not.
        """
        ...

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        """Returns what `search` would, among the messages that are indexed so far, with the texts that match. May be
        called from any thread. Raises `InvalidRequest` if the query has no word."""
        ...

    def index_some(self, session_id: str | None = None) -> int:
        """Indexes some records (tens of milliseconds of work) that a search of the session, or of all sessions,
        would read. Returns the number of records left, 0 when the index is complete. May be called from any thread."""
        ...

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        """Returns those vectors of chunks that are kept for a model, as opaque bytes. May be called from any thread."""
        ...

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        """Keeps vectors of chunks, the oldest up to a bound, as long as their messages. For any thread."""
        ...

    def own_settings(self) -> tuple[Mapping[str, Any], ...]:
        """Returns every set of context settings that a session has or had of its own (`SessionConfigured`)."""
        ...

    def version(self) -> int:
        """Returns a number that changes when another process, or another opening of the store here, writes to it."""
        ...

    def load_calibration(self, model: str) -> bytes | None:
        """Returns the saved calibration of a model as opaque bytes, or None if none is saved."""
        ...

    def save_calibration(self, model: str, calibration: bytes) -> None:
        """Saves the calibration of a model, opaque bytes, in place of an earlier one."""
        ...


class MemoryFiles(Protocol):
    """The files of one memory. All methods block. A change is made completely or not at all, and survives the death of
    the process.

    All methods raise `StoreUnavailable` if the disk refuses, and `NotFound` if the path is neither a file nor a folder
    of the memory. Links and devices are treated as absent.
    """

    def look(self, path: MemoryPath) -> str | tuple[MemoryEntry, ...]:
        """Returns the text of a file. For a folder, returns the entries of its listing: the folder itself first, and
        each folder before its content. Raises `InvalidRequest` for a file that is not text or is over the size limit.
        """
        ...

    def create(self, path: MemoryPath, text: str) -> None:
        """Creates a file and its missing folders. Raises `Conflict` if the name exists, or a name that some file
        systems consider equal. Raises `InvalidRequest` if a limit is exceeded."""
        ...

    def edit(self, path: MemoryPath, change: Callable[[str], TextEdit]) -> TextEdit:
        """Replaces a file's text by the result of `change` and returns that result. `change` is called again if
        another program wrote to the file meanwhile; `Conflict` is raised after several such tries. If `change`
        raises, the file stays as it is."""
        ...

    def delete(self, path: MemoryPath) -> None:
        """Deletes a file, or a folder with its content. Raises `InvalidRequest` for the memory's own folder."""
        ...

    def rename(self, old: MemoryPath, new: MemoryPath) -> None:
        """Renames or moves a file or folder. Raises `Conflict` if the new name exists, or a name that some file systems
        consider equal. Raises `InvalidRequest` for the memory's own folder, if a limit would be exceeded, or if a
        folder would be moved into itself."""
        ...


# What the id of a copy in a team's archive begins with. No session of this machine has such an id.
COPY_PREFIX = "t_"


class TeamHit(Struct, frozen=True, kw_only=True):
    """A passage in a team's archive. `owner` is the role of the database that shares it; `folder` and `title` are its
    session's."""

    owner: str
    folder: str
    title: str
    passage: Passage


class TeamOpenResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A whole message in the team's archive, without what its owner keeps private. `owner`, `folder`, `title`,
    `sessionId`, `index` and `role` are as in `TeamHitRow`; `messages` is the number of messages of the copy."""

    owner: str
    folder: str
    title: str
    session_id: str
    index: int
    role: str
    text: str
    messages: int


class ReadsTeam(Protocol):
    """Reads the team's archive that the user has chosen. Raises `InvalidRequest` if none was chosen, and
    `StoreUnavailable` if it can't be used."""

    async def search(self, query: str, limit: int) -> Sequence[TeamHit]:
        """Returns the passages that match, the best first. Raises `InvalidRequest` if the query has no word."""
        ...

    async def open(self, session_id: str, start: int, stop: int) -> Sequence[TeamOpenResult]:
        """Returns the messages with `start <= index < stop` of a copy that is shared with the user; see
        `open_in_team`. Raises `SessionNotFound` and `MessageNotFound`."""
        ...


class SentMark(Struct, frozen=True, kw_only=True):
    """How far a session is sent: the position of the last record that was read, a digest of that record, the number of
    records of the copy, and a digest of what the copy begins with (title, folder and model)."""

    position: int
    last: str
    records: int
    head: str


def digest_of(*texts: str) -> str:
    """Returns 24 hexadecimal digits that name texts: folders, copies, what was sent."""
    return blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
