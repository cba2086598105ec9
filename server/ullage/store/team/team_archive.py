"""Sends redacted copies of the sessions of a folder to a team's archive, and removes them from it. Of a session its
messages leave this machine, as text, without secret or private text."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import normpath
from types import MappingProxyType
from typing import Any, cast

from msgspec import Struct

from ullage import __version__
from ullage.agents.discovery import is_in
from ullage.model.errors import MessageNotFound, SessionNotFound
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.json_values import encode_json
from ullage.model.message import (
    Block,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    number_of,
)
from ullage.redaction.clean import hide_text, redact
from ullage.service.ports.store import (
    ALL_SESSIONS,
    COPY_PREFIX,
    Passage,
    SentMark,
    SessionInfo,
    SessionStore,
    TeamHit,
    TeamOpenResult,
    digest_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Needs a package that few have, who share sessions.
    from ullage.store.postgres.postgres_store import PostgresStore

# Characters of one block that are shared, half from its beginning and half from its end: what the search indexes.
_BLOCK_CHARS = 524_288


def copy_id(session_id: str) -> str:
    """Returns the id that the copy of a session has. The session's own id stays here."""
    return f"{COPY_PREFIX}{digest_of(session_id)}"


def workspace_of(folder: str) -> str:
    """Returns the workspace in which the copies of a folder are. The folder's path may be private, too."""
    return f"w_{digest_of(folder)}"


def redacted_copy(info: SessionInfo, log: Sequence[Record], patterns: Sequence[str]) -> Iterator[Record]:
    """Yields the records of a session's copy: its title and folder, then a message of text for each of its user's, its
    agent's and its tools'. `patterns` are the user's private patterns.

    Nothing else is in it: no system prompt, reasoning, picture, edit, or field that only a provider reads.
    """
    title = _redacted(info.title, patterns)
    created = SessionCreated(title=title, cwd=_redacted(info.cwd, patterns), model=info.model)
    yield Record(position=0, timestamp=info.created_at, event=created)
    yield from redacted_messages(log, patterns, 1)


def redacted_messages(log: Iterable[Record], patterns: Sequence[str], position: int) -> Iterator[Record]:
    """Yields the records of a copy for these records of a session, from a position of the copy on. What a message
    becomes depends on nothing else in the log."""
    for record in log:
        event = record.event
        if not isinstance(event, MessageAppended) or event.message.role is Role.SYSTEM:
            continue
        if text := shared_text(event.message, patterns):
            message = Message(
                id=f"m{position}",
                role=event.message.role,
                content=(TextBlock(text=text),),
                timestamp=event.message.timestamp,
            )
            yield Record(position=position, timestamp=record.timestamp, event=MessageAppended(message=message))
            position += 1


def shared_text(message: Message, patterns: Sequence[str]) -> str:
    """Returns the text of a message without secrets and private text."""
    texts = (_block_text(block, patterns) for block in message.content)
    return "\n".join(_redacted(_bounded(text), patterns) for text in texts if text)


def _redacted(text: str, patterns: Sequence[str]) -> str:
    # A private pattern may be longer than what redaction leaves of it, and a secret than what a pattern leaves.
    return hide_text(redact(hide_text(text, patterns)), patterns)


def _block_text(block: Block, patterns: Sequence[str]) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            # Alone a value has its line ends, and next to its name it is known for what it is.
            inner = _with_leaves(block.input, lambda text: _redacted(text, patterns))
            return f"{block.name}\n{json.dumps(inner, ensure_ascii=False, indent=1)}"
        case ToolResultBlock():
            return "\n".join(filter(None, (_block_text(part, patterns) for part in block.content)))
        case ResourceBlock():
            return f"{block.uri}\n{block.text or ''}"
        case _:
            return ""


def _with_leaves(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a tool's input with every string in it replaced by `change(text)`, whatever its name."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _with_leaves(inner, change) for key, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_with_leaves(inner, change) for inner in cast("list[Any]", value)]
        case _:
            return value


def _bounded(text: str) -> str:
    half = _BLOCK_CHARS // 2
    return text if len(text) <= _BLOCK_CHARS else f"{text[:half]}\n{text[-half:]}"


# Called with the number of sessions that were looked at, and their number.
Tell = Callable[[int, int], object]


def is_same_store(source: SessionStore, team: "PostgresStore") -> bool:
    """Returns whether an archive has a store's own sessions, at any address. An empty store says nothing."""
    return any(info.session_id in team.find_ids(info.session_id, 1) for info in source.list(limit=1))


class SentFolder(Struct, frozen=True, kw_only=True):
    """What was done for a folder: the numbers of its sessions in the archive, of copies that were made or continued,
    and of copies that were removed; and how far each session is sent, by its id."""

    sessions: int
    sent: int
    removed: int
    marks: Mapping[str, SentMark]


class Sharing(Struct, frozen=True, kw_only=True):
    """A folder that is shared: with which roles of the database, and without which private text, as regular
    expressions."""

    folder: str
    members: tuple[str, ...]
    patterns: tuple[str, ...] = ()

    @property
    def rules(self) -> str:
        """A name for how texts are redacted. Another version of Ullage may know more secrets."""
        return digest_of(__version__, *self.patterns)


def send_folder(
    source: SessionStore,
    team: "PostgresStore",
    sharing: Sharing,
    tell: Tell,
    marks: Mapping[str, SentMark] = MappingProxyType({}),
) -> SentFolder:
    """Makes the archive have a redacted copy of each session of a folder, and of the folders in it, and lets the
    members read them. A copy whose session is gone, or that would be redacted otherwise now, is removed first.

    `marks` are those of the last time, if the rules were the same: only what is new since is read and redacted. A mark
    that doesn't fit the session or its copy any more is not used. Raises `StoreUnavailable` and `Conflict`.
    """
    infos = [info for info in source.list(limit=ALL_SESSIONS) if is_in(normpath(info.cwd), sharing.folder)]
    # A copy in the store is there because the store was empty when it was chosen as its own archive.
    own = (info for info in infos if info.cwd and not info.session_id.startswith(COPY_PREFIX))
    wanted = {copy_id(info.session_id): info for info in own}
    workspace = workspace_of(sharing.folder)
    there = set(team.shared_in(workspace))
    counts = {info.session_id: info.messages + 1 for info in team.list(limit=ALL_SESSIONS)} if marks else {}
    for gone in there - wanted.keys():
        team.delete(gone)
    sending = _Sending(source, team, sharing.patterns, workspace)
    sending.forgets = bool(there - wanted.keys())
    for done, (name, info) in enumerate(wanted.items()):
        mark = marks.get(info.session_id)
        if name not in there:
            sending.send_new(name, info)
        elif mark is None or counts.get(name) != mark.records or not sending.send_rest(name, info, mark):
            sending.compare(name, info)
        tell(done + 1, len(wanted))
    if sending.sent:
        while team.index_some():
            pass
    if sending.forgets:
        team.forget_words()
    team.set_members(workspace, sharing.members)
    removed = len(there - wanted.keys())
    return SentFolder(sessions=len(wanted), sent=sending.sent, removed=removed, marks=sending.marks)


class _Sending:
    """One pass over the sessions of a folder. `forgets` says that texts were removed from the archive."""

    def __init__(self, source: SessionStore, team: "PostgresStore", patterns: Sequence[str], workspace: str) -> None:
        self._source, self._team = source, team
        self._patterns, self._workspace = patterns, workspace
        self.marks: dict[str, SentMark] = {}
        self.sent = 0
        self.forgets = False

    def send_new(self, name: str, info: SessionInfo) -> None:
        """Makes a copy."""
        log = self._source.read(info.session_id)
        records = tuple(redacted_copy(info, log, self._patterns))
        self._create(name, records)
        self._note(info, log[-1], len(records), is_sent=True)

    def compare(self, name: str, info: SessionInfo) -> None:
        """Continues a copy, or makes it again if its beginning would be another one now."""
        log = self._source.read(info.session_id)
        records = tuple(redacted_copy(info, log, self._patterns))
        known = self._team.read(name)
        if records[: len(known)] != known:
            self._team.delete(name)
            self._create(name, records)
            self.forgets = True
        elif len(records) > len(known):
            self._team.append(name, records[len(known) :])
        self._note(info, log[-1], len(records), is_sent=records != known)

    def send_rest(self, name: str, info: SessionInfo, mark: SentMark) -> bool:
        """Continues a copy with what is new since a mark. Returns False if the mark is not of this session as it is
        now: it was renamed, or after times without the server its log is another one."""
        log = self._source.read(info.session_id, mark.position)
        if mark.head != _head(info) or not log or mark.last != _digest_of_record(log[0]):
            return False
        records = tuple(redacted_messages(log[1:], self._patterns, mark.records))
        if records:
            self._team.append(name, records)
        self._note(info, log[-1], mark.records + len(records), is_sent=bool(records))
        return True

    def _create(self, name: str, records: Sequence[Record]) -> None:
        if name in self._team.find_ids(name, 1):
            # It was made and not yet put into the folder's workspace when a program was ended, or is of another folder.
            self._team.delete(name)
        self._team.create(name, records)
        self._team.share(name, self._workspace)

    def _note(self, info: SessionInfo, last: Record, records: int, *, is_sent: bool) -> None:
        mark = SentMark(position=last.position, last=_digest_of_record(last), records=records, head=_head(info))
        self.marks[info.session_id] = mark
        self.sent += is_sent


def _head(info: SessionInfo) -> str:
    return digest_of(info.title, info.cwd, info.model, str(info.created_at))


def _digest_of_record(record: Record) -> str:
    return digest_of(str(record.timestamp), encode_json(record.event).decode("utf-8", "surrogatepass"))


def remove_folder(team: "PostgresStore", folder: str) -> int:
    """Removes all that the user shared of a folder, and its members. Returns the number of sessions."""
    workspace = workspace_of(folder)
    team.set_members(workspace, ())
    names = team.shared_in(workspace)
    for name in names:
        team.delete(name)
    team.forget_words()
    return len(names)


def find_in_team(team: "PostgresStore", query: str, limit: int) -> tuple[TeamHit, ...]:
    """Returns what matches in a team's archive, best first. Raises `InvalidRequest` for a query without words."""
    return tuple(_hit(team, passage) for passage in team.find_passages(query, None, limit))


def open_in_team(team: "PostgresStore", name: str, start: int, stop: int) -> tuple[TeamOpenResult, ...]:
    """Returns the messages with `start <= index < stop` of a copy in a team's archive that was opened for reading what
    others share. `name` is the copy's id or the beginning of it. Raises `SessionNotFound` if no copy, or several, that
    the user may read have this name, and `MessageNotFound` if the copy has no message at `start`."""
    ids = team.find_ids(name, 2) if name.startswith(COPY_PREFIX) else ()
    if len(ids) != 1:
        raise SessionNotFound(
            f"no conversation {name[:40]!r} in the team's archive: search again, and take its whole id"
        )
    (session_id,) = ids
    owner, _ = team.owner(session_id)
    info = team.info(session_id)
    records = team.read_messages(session_id, start, stop)
    if not records:
        raise MessageNotFound(f"no message #{number_of(start)}: the messages are #1 to #{info.messages:,}")
    return tuple(
        TeamOpenResult(
            owner=owner,
            folder=info.cwd,
            title=info.title,
            session_id=session_id,
            index=index,
            role=record.event.message.speaker,
            text="\n".join(block.text for block in record.event.message.content if isinstance(block, TextBlock)),
            messages=info.messages,
        )
        for index, record in enumerate(records, start)
        if isinstance(record.event, MessageAppended)
    )


def _hit(team: "PostgresStore", passage: Passage) -> TeamHit:
    session_id = passage.hit.session_id
    owner, _ = team.owner(session_id)
    info = team.info(session_id)
    return TeamHit(owner=owner, folder=info.cwd, title=info.title, passage=passage)
