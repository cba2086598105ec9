"""Which conversations Ullage knows, in the store or in the archive of agents' files, and how one is forgotten.

One conversation may have several sessions in the store (it was imported twice, or has sub-agents) and several files in
the archive. They are forgotten together: each has the same words.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import common_facts
from ullage.agents.discovery import Wanted, is_in, kept_path, rows_at
from ullage.agents.table import AGENTS
from ullage.formats.parsing import parse_lines
from ullage.model.errors import NotFound, SessionNotFound
from ullage.model.events import MessageAppended
from ullage.service.archive.naming import SubAgents, begins, find_session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import KeptConversation, Originals
from ullage.service.ports.store import ALL_SESSIONS, ImportedSession, SessionInfo, SessionStore
from ullage.service.sessions import delete_session

# Bytes of a kept file in which its folder and its title are looked for.
_OPENING = 256 << 10
# Conversations that an error lists.
_LISTED = 5


class HeldConversation(Struct, frozen=True, kw_only=True):
    """A conversation that Ullage knows. A text is "" if it is not known.

    `sessions` are those in the store, `kept` what the archive has of it. `origins` are the agent's own ids of it and of
    its sub-agents' conversations, each with the path of its file. `updated_at` is Unix milliseconds.
    """

    title: str
    cwd: str
    agent: str
    updated_at: int
    sessions: tuple[SessionInfo, ...] = ()
    kept: tuple[KeptConversation, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """What a list calls it: its session's id, or else its agent's own."""
        return self.sessions[0].session_id if self.sessions else self.origins[0][0]


def list_known(workspace: Workspace, originals: Originals | None) -> list[HeldConversation]:
    """Returns all conversations, those first that have not changed for the longest time."""
    store = workspace.ports.store
    imported = {one.session_id: one for one in store.imported()}
    infos = {info.session_id: info for info in store.list(limit=ALL_SESSIONS)}
    roots = _roots(imported)
    linked: dict[str, list[KeptConversation]] = {}
    alone: list[KeptConversation] = []
    for one in originals.conversations() if originals else ():
        root = next((roots[key] for key in _keys_of(one) if key in roots), None)
        if root is None:
            alone.append(one)
        else:
            linked.setdefault(root, []).append(one)
    groups: dict[str, list[SessionInfo]] = {}
    for info in infos.values():
        groups.setdefault(roots.get(info.session_id, info.session_id), []).append(info)
    there = workspace.ports.transcripts(Wanted(limit=ALL_SESSIONS)).conversations
    changed = {kept_path(one.path, one.origin_id): one.updated_at for one in there}
    for root, sessions in groups.items():
        sessions.sort(key=lambda info: info.session_id != root)
    known = [_stored(store, groups[root], imported, linked.get(root, ()), changed) for root in groups]
    known += [
        HeldConversation(
            title="", cwd="", agent=one.agent, updated_at=one.changed_at, kept=(one,), origins=(_origin_of(one),)
        )
        for one in alone
    ]
    return sorted(known, key=lambda one: one.updated_at)


def _roots(imported: Mapping[str, ImportedSession]) -> dict[str, str]:
    """Returns the session under which a conversation is listed, by each session of it, by the paths of its files and by
    its agent's ids: the last created one of the conversation that the user had, which has started the sub-agents'."""
    sub_agents, roots, by_origin = SubAgents(tuple(imported.values())), dict[str, str](), dict[tuple[str, str], str]()
    for session_id, one in imported.items():
        shown = session_id
        while (above := sub_agents.shown_under(shown)) and above != session_id:
            shown = above
        origin = imported[shown]
        root = by_origin.setdefault((origin.agent, origin.origin_id), shown) if origin.origin_id else shown
        for key in (session_id, kept_path(one.path, one.origin_id), one.origin_id):
            if key:
                roots.setdefault(key, root)
    return roots


def _keys_of(kept: KeptConversation) -> Iterator[str]:
    yield from kept.session_ids
    yield kept.path
    if kept.origin_id:
        yield kept.origin_id


def _stored(
    store: SessionStore,
    sessions: Sequence[SessionInfo],
    imported: Mapping[str, ImportedSession],
    kept: Sequence[KeptConversation],
    changed: Mapping[str, int],
) -> HeldConversation:
    """Returns a conversation with these sessions, the first of which names it. `changed` has the times of the agents'
    files that are there."""
    root = imported.get(sessions[0].session_id)
    origins = [(one.origin_id, one.path) for info in sessions if (one := imported.get(info.session_id))]
    origins += map(_origin_of, kept)
    # What was read yesterday may be a year old.
    places = [kept_path(path, origin_id) for origin_id, path in origins if path]
    files = [changed[place] for place in places if place in changed]
    times = [*files, *(one.changed_at for one in kept)] or [_said_at(store, info, imported) for info in sessions]
    return HeldConversation(
        title=sessions[0].title,
        cwd=sessions[0].cwd,
        agent=root.agent if root else "",
        updated_at=max(times),
        sessions=tuple(sessions),
        kept=tuple(kept),
        origins=tuple(dict.fromkeys(origins)),
    )


def _said_at(store: SessionStore, info: SessionInfo, imported: Mapping[str, ImportedSession]) -> int:
    """Returns the time of a session's last message, or if it says none, or is Ullage's own, of its last record."""
    if info.session_id not in imported:
        return info.updated_at
    events = (record.event for record in reversed(store.read_apart(info.session_id)))
    times = (event.message.timestamp for event in events if isinstance(event, MessageAppended))
    return next(filter(None, times), info.updated_at)


def _origin_of(kept: KeptConversation) -> tuple[str, str]:
    database, origin_id = rows_at(kept.path) or ("", "")
    return (origin_id, database) if database else (kept.origin_id, kept.path)


def with_facts(known: HeldConversation, originals: Originals | None) -> HeldConversation:
    """Returns a conversation with its title and folder. Of one that is in the archive alone, these are in its file."""
    if known.sessions or originals is None:
        return known
    agent = next((one for one in AGENTS if one.name == known.agent and one.sessions), None)
    facts_of = agent.sessions.facts_of if agent and agent.sessions else common_facts
    for original in originals.find(path=known.kept[0].path)[:1]:
        for version in original.versions[-1:]:
            data = b"".join(_first(originals.read(version.version_id)))
            records = [line.value for line in parse_lines(data) if line.value]
            title = agent.sessions.title_of(records) if agent and agent.sessions else ""
            return replace(known, title=title, cwd=facts_of(known.kept[0].path, records).cwd)
    return known


def _first(pieces: Iterable[bytes]) -> Iterator[bytes]:
    left = _OPENING
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def find_named(known: Sequence[HeldConversation], workspace: Workspace, names: Sequence[str]) -> list[HeldConversation]:
    """Returns the conversations that these names mean, each once: ids of sessions or agents' own, beginnings of them,
    or paths of agents' files. Raises `NotFound` if one means none, or several."""
    found: list[HeldConversation] = []
    for name in names:
        one = _named(known, workspace, name)
        found += () if one in found else (one,)
    return found


def _named(known: Sequence[HeldConversation], workspace: Workspace, name: str) -> HeldConversation:
    by_session = {info.session_id: one for one in known for info in one.sessions}
    try:
        return by_session[find_session(workspace.ports.store, name)]
    except SessionNotFound as error:
        fits = [one for one in known if any(_means(name, origin, path) for origin, path in one.origins)]
        fits = [one for one in fits if any(origin == name for origin, _ in one.origins)] or fits
        if len(fits) == 1:
            return fits[0]
        if fits:
            listed = ", ".join(origin for one in fits[:_LISTED] for origin, _ in one.origins[:1])
            raise NotFound(f"{name!r} could be any of {len(fits)} conversations: {listed}; type more") from error
        # Next to the store there may be what hooks and status lines know of a conversation that was not read.
        there = workspace.ports.transcripts(Wanted(limit=2, origin=name)).conversations if name else ()
        if len(there) != 1:
            raise
        (one,) = there
        origins = ((one.origin_id, one.path),)
        return HeldConversation(
            title=one.title, cwd=one.cwd, agent=one.agent, updated_at=one.updated_at, origins=origins
        )


def _means(name: str, origin: str, path: str) -> bool:
    return bool(name) and (begins(origin, name) or name in (path, kept_path(path, origin)))


def choose(
    known: Iterable[HeldConversation], originals: Originals | None, before: int | None, folder: str, pattern: str
) -> list[HeldConversation]:
    """Returns the conversations that were last changed before a time (Unix milliseconds, None: at any), began in a
    folder or one in it ("": in any), and whose title or agent's file matches a pattern with shell wildcards ("": all).
    """
    older = (one for one in known if before is None or one.updated_at < before)
    if not folder and not pattern:
        return list(older)
    return [
        one
        for one in (with_facts(old, originals) for old in older)
        if (not folder or is_in(one.cwd, folder)) and (not pattern or _matches(one, pattern))
    ]


def _matches(known: HeldConversation, pattern: str) -> bool:
    texts = (*(info.title for info in known.sessions), known.title, *(path for _, path in known.origins))
    return any(fnmatch(text.lower(), pattern.lower()) for text in texts if text)


def down_to(known: Iterable[HeldConversation], size: int, most: int) -> list[HeldConversation]:
    """Returns the conversations, the oldest first, without which an archive of `size` bytes has at most `most`."""
    chosen: list[HeldConversation] = []
    for one in known:
        if size <= most:
            break
        if one.kept:
            chosen.append(one)
            size -= sum(kept.frees for kept in one.kept)
    return chosen


async def forget(
    workspace: Workspace, originals: Originals | None, known: Sequence[HeldConversation], show: Callable[[str], object]
) -> None:
    """Removes conversations from the store, the archive and all that is next to the store, and overwrites what they
    have left in files. `show` is called with what is being done. Raises `StoreError`; what was removed before an error
    stays removed."""
    for one in known:
        for info in one.sessions:
            # Those of its sub-agents go with the first.
            with suppress(SessionNotFound):
                await delete_session(workspace, info.session_id, erase=False)
        for origin_id, path in one.origins:
            workspace.remove_traces(origin_id, path)
    show("Overwriting what was removed")
    if originals:
        await asyncio.to_thread(originals.remove, [kept.path for one in known for kept in one.kept])
    await asyncio.to_thread(workspace.ports.store.erase_deleted, rewrite=True)


def forks_of(known: Sequence[HeldConversation], store: SessionStore) -> list[SessionInfo]:
    """Returns the sessions that are forks of these conversations and not among them: they begin with their messages."""
    own = {info.session_id for one in known for info in one.sessions}
    return [info for info in store.list(limit=ALL_SESSIONS) if info.parent_id in own and info.session_id not in own]


def files_left(workspace: Workspace, known: Sequence[HeldConversation]) -> list[str]:
    """Returns the agents' own files of these conversations that are still there."""
    paths = dict.fromkeys(path for one in known for _, path in one.origins)
    return [path for path in paths if workspace.own_files.has(path)]
