"""What users type for a session, a message, an edit or an original: its id, the beginning of its id, or a message's
number; the conversations of coding agents on this machine, each with the stored session that was imported from it;
and which sessions are sub-agents'.

Sub-agents' sessions are left out where one conversation is chosen or few are listed, except one whose parent is not
stored: nothing else would show its work."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from itertools import islice
from typing import Self

from msgspec import Struct

from ullage.agents.discovery import Found, UnreadFile, Wanted
from ullage.model.errors import EditNotFound, MessageNotFound, NotFound, SessionNotFound
from ullage.model.message import index_of
from ullage.service.conversation.conversation import Conversation, read_entries
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import ImportedSession, SessionInfo, SessionStore

# Every id that Ullage makes for a session begins with this; users may leave it out.
_SESSION_PREFIX = "s_"
# What an error lists at the most.
_LISTED = 5


def begins(origin: str, name: str) -> bool:
    """Returns whether an agent's id begins so. The folders of OpenHands leave the hyphens of an id out."""
    letters = name.replace("-", "")
    return bool(letters) and origin.replace("-", "").startswith(letters)


def find_session(store: SessionStore, name: str, *, by_agents: bool = True) -> str:
    """Returns the id of the one session whose id is `name` or begins with it; the prefix `s_` may be left out. With
    `by_agents`, the agent's own id of a conversation means the session that was read from it last. Raises
    `SessionNotFound`, with the candidates if there are several and with the closest id if there is none."""
    found = store.find_ids(name) or store.find_ids(_SESSION_PREFIX + name) if name else ()
    if name in found:
        return name
    if not found and name and by_agents:
        own = {one.origin_id: one.session_id for one in reversed(store.imported()) if begins(one.origin_id, name)}
        found = (own[name],) if name in own else tuple(own.values())
    if len(found) == 1:
        return found[0]
    if found:
        titles = [f"{session_id} ({store.info(session_id).title})" for session_id in found[:_LISTED]]
        raise SessionNotFound(_ambiguous("session", name, titles, len(found)))
    near = get_close_matches(name, store.find_ids(""), n=1)
    hint = f"did you mean {near[0]}?" if near else "`ullage --stored` lists them"
    raise SessionNotFound(f"no stored session {name!r}; {hint}")


def find_message(conversation: Conversation, name: str) -> str:
    """Returns the id of the message that a user names: by its number (`85`, `#85`), its id, or the beginning of its id.
    Archived messages are found, too. Raises `MessageNotFound` if no message or several messages fit."""
    store, total = conversation.workspace.ports.store, conversation.transcript.messages
    if store.find_index(conversation.id, name) is not None:
        return name
    digits = name.removeprefix("#")
    if digits.isdecimal():
        index = index_of(int(digits))
        if 0 <= index < total:
            (entry,) = read_entries(conversation, index, index + 1)
            return entry.message.id
        raise MessageNotFound(f"no message {name}: the messages of this conversation are #1 to #{total:,}")
    ids = [entry.message.id for entry in read_entries(conversation, 0, total)]
    none = f"no message {name!r}: give its id or a number from #1 to #{total:,}; `ullage messages` lists them"
    return _only_one(MessageNotFound, "message", name, ids, none)


def find_edit(conversation: Conversation, name: str) -> str:
    """Returns the one edit whose id is `name` or begins with it, undone or not. Raises `EditNotFound`."""
    ids = [info.id for info in conversation.transcript.edits]
    known = f"its edits are {', '.join(ids)}" if ids else "it has no edits"
    return _only_one(EditNotFound, "edit", name, ids, f"no edit {name!r} in session {conversation.id}: {known}")


def _only_one(error: type[NotFound], what: str, name: str, ids: Sequence[str], none: str) -> str:
    """Returns the one id that is `name` or begins with it. Raises the error, with the text `none` if there is none."""
    found = [name] if name in ids else [known for known in dict.fromkeys(ids) if name and known.startswith(name)]
    if len(found) == 1:
        return found[0]
    raise error(_ambiguous(what, name, found, len(found)) if found else none)


def _ambiguous(what: str, name: str, candidates: Iterable[str], count: int) -> str:
    listed = list(candidates)[:_LISTED]
    more = f" and {count - len(listed)} more" if count > len(listed) else ""
    return f"{name!r} could be any of {count} {what}s: {', '.join(listed)}{more}; type more of the id"


class Listed(Struct, frozen=True, kw_only=True):
    """A conversation found on this machine, with the stored session that was last imported from it, or None."""

    found: Found
    session_id: str | None


class Listing(Struct, frozen=True, kw_only=True):
    """The conversations that were found on this machine, and the files that could not be read."""

    conversations: tuple[Listed, ...]
    unread: tuple[UnreadFile, ...]


async def list_found(workspace: Workspace, wanted: Wanted) -> Listing:
    """Returns conversations of agents, the folder's first. Their files are read in a thread."""
    discovery = await asyncio.to_thread(workspace.ports.transcripts, wanted)
    listed = tuple(_with_sessions(workspace.ports.store, discovery.conversations))
    return Listing(conversations=listed, unread=discovery.unread)


def _with_sessions(store: SessionStore, found: Sequence[Found]) -> Iterator[Listed]:
    """Yields each conversation with its stored session, matched by format and the agent's own id."""
    sessions: dict[tuple[str, str], str] = {}
    for imported in store.imported() if found else ():
        sessions.setdefault((imported.format, imported.origin_id), imported.session_id)
    for one in found:
        yield Listed(found=one, session_id=sessions.get((one.format, one.origin_id)) if one.origin_id else None)


class SubAgents:
    """The sub-agents' conversations among sessions that were imported. `imported` has the last created first; of
    several sessions that were imported from one conversation, the last created is the parent."""

    def __init__(self, imported: Sequence[ImportedSession]) -> None:
        by_origin: dict[tuple[str, str], str] = {}
        for one in imported:
            by_origin.setdefault((one.agent, one.origin_id), one.session_id)
        self._parents: dict[str, str] = {}
        self._nameless: set[str] = set()
        for one in imported:
            if not one.is_sub_agent:
                continue
            if not one.parent_id:
                self._nameless.add(one.session_id)
            elif parent := by_origin.get((one.agent, one.parent_id)):
                self._parents[one.session_id] = parent

    @classmethod
    def of(cls, store: SessionStore) -> Self:
        """Returns the sub-agents' sessions of a store. Raises `StoreError`."""
        return cls(store.imported())

    @property
    def left_out(self) -> frozenset[str]:
        """The sessions that are left out: their parent is stored, or the agent does not say which it is."""
        return frozenset({*self._parents, *self._nameless})

    def shown_under(self, session_id: str) -> str | None:
        """Returns the session under which a sub-agent's is shown, or None if it is shown by itself."""
        return self._parents.get(session_id)

    def list_parents(self, store: SessionStore, cwd: str | None, limit: int) -> Sequence[SessionInfo]:
        """Returns sessions as `list_main` does, without those that are shown under another one."""
        return _list(store, self._parents.keys(), cwd, limit, 0)

    def children(self, session_id: str) -> list[str]:
        """Returns the sessions that are shown under this one: its sub-agents', and theirs, each once."""
        found: list[str] = []
        new = [session_id]
        while new:
            # Files that name each other as parents are damaged, but must not hang a list.
            new = [child for child, parent in self._parents.items() if parent in new and child not in found]
            new = [child for child in new if child != session_id]
            found += new
        return found


def known_info(store: SessionStore, session_id: str) -> SessionInfo | None:
    """Returns what is known of a session that was listed; None if another process has deleted it since."""
    try:
        return store.info(session_id)
    except SessionNotFound:
        return None


def list_main(store: SessionStore, cwd: str | None, limit: int, offset: int = 0) -> tuple[SessionInfo, ...]:
    """Returns sessions as `SessionStore.list` does, without those of sub-agents that are left out and without those
    that have neither a message nor a title: editors start a session when they open. Raises `StoreError`."""
    return _list(store, SubAgents.of(store).left_out, cwd, limit, offset)


def _list(
    store: SessionStore, left_out: AbstractSet[str], cwd: str | None, limit: int, offset: int
) -> tuple[SessionInfo, ...]:
    shown = (info for info in _all(store, cwd, limit + offset) if info.messages or info.title)
    return tuple(islice((info for info in shown if info.session_id not in left_out), offset, offset + limit))


def _all(store: SessionStore, cwd: str | None, first: int) -> Iterator[SessionInfo]:
    """Yields the sessions of a folder, or all: at first so many are read, then twice as many."""
    at, most = 0, first
    while found := store.list(cwd, most, at):
        yield from found
        if len(found) < most:
            break
        at, most = at + len(found), 2 * most
