"""Every conversation of an agent on this machine: its figure, and reading into the store what the store lacks.

The figures come from the catalogue, and from the files that have changed since. Of a file of records only the ends are
read, as far as they say the figure. What has not changed is not read again.

What the store lacks is read so that a search finds everything, files that have its words first, and of these and of the
others the last changed first. What is left when the reading is ended is read by the next one.

Also what runs on this machine now: agents with their conversations, and the process that follows these."""

import asyncio
import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Facts
from ullage.agents.discovery import Discovery, Found, UnreadFile, Wanted, is_in, is_kept_for, kept_path
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import detect_format, format_of
from ullage.bounds import OWN_FILE, read_plain
from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.formats.transcripts.format import Format, from_last_answer
from ullage.host import this_system
from ullage.host.side_files import ARRIVALS, LIVE, READER, beside
from ullage.model.errors import (
    InputError,
    InvalidRequest,
    NotFound,
    SessionNotFound,
    StoreError,
    UllageError,
    UnknownFormat,
    UnreadableTranscript,
)
from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.model.settings import Notices
from ullage.model.usage import FollowedRow, LiveSessions, UsageSource, WindowSource
from ullage.service.archive.naming import begins, known_info
from ullage.service.archive.search import index_session
from ullage.service.conversation.usage import LONG
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import read_conversation
from ullage.service.follow.rows import (
    CatalogueRows,
    Families,
    ends_with_compaction,
    ends_with_edit,
    is_recent,
    of_agent,
)
from ullage.service.ports.agent_files import FoundFile
from ullage.store.sqlite.catalogue import (
    FollowedNow,
    ForgottenList,
    KnownConversation,
    SqliteCatalogue,
    SqliteTold,
    as_followed,
    forgotten_key,
)
from ullage.store.store_place import StorePlace, is_there, local_path
from ullage.system.growing_files import GrowingFiles, read_database, read_transcript_file, with_reports
from ullage.system.shared_files import FileLease, replace_file
from ullage.watch.candidates import (
    Candidate,
    find_candidates,
    find_processes,
    read_fact_files,
    reason_of,
    this_machine,
)
from ullage.watch.file_parts import FileEnds, file_ends, has_all


class LiveRowsShown:
    """Where the process that follows into the store at `store` shows what it follows (`LiveFile`): in the catalogue,
    and in the live file next to the store, a copy for editors and for programs that start once for each figure.
    `on_desktop` says whether that process tells the user what is due by notifications of the operating system."""

    def __init__(self, store: Path, on_desktop: Callable[[], bool] = lambda: False) -> None:
        self._on_desktop = on_desktop
        self._catalogue = FollowedNow(store)
        self._path = beside(store, LIVE)

    def write(self, sessions: LiveSessions) -> None:
        """Replaces what is shown, in the file at once as a whole. Raises `StoreUnavailable`."""
        try:
            self._catalogue.write(sessions)
        finally:
            replace_file(self._path, msgspec.json.encode(replace(sessions, desktop=self._on_desktop())))

    def read(self) -> LiveSessions | None:
        """Returns what is shown, or None if it has not changed since the last call, or can't be read."""
        return self._catalogue.read()

    def close(self) -> None:
        """Closes what `read` keeps open."""
        self._catalogue.close()


def running_agents() -> Mapping[tuple[str, str], int | None]:
    """Returns the agents' processes on this machine that say which conversations they have (`FindProcesses`)."""
    return find_processes(this_machine())


class _Arrival(Struct, frozen=True):
    at: int
    session: str
    event: str


class BegunCompactions:
    """The compactions in the list of hooks next to the store that began and after which no hook of the conversation is
    listed (`FindCompactions`). A hook that its agent runs without having something to ask for lists nothing."""

    def __init__(self, store: Path) -> None:
        self._path = beside(store, ARRIVALS)
        self._seen: tuple[int, ...] = ()
        self._begun: Mapping[str, int] = {}

    def __call__(self) -> Mapping[str, int]:
        with suppress(OSError):
            found = self._path.stat()
            if (seen := (found.st_mtime_ns, found.st_size)) != self._seen:
                last = dict[str, _Arrival]()
                for line in read_plain(self._path, OWN_FILE).splitlines():
                    with suppress(msgspec.MsgspecError):
                        one = msgspec.json.decode(line, type=_Arrival)
                        last[one.session] = one
                self._seen = seen
                self._begun = {one.session: one.at for one in last.values() if one.event == "PreCompact"}
        return self._begun


def followed_now(place: StorePlace | None) -> Sequence[FollowedRow]:
    """Returns the conversations that a process follows now into a store (None: the user's), the last changed first.
    Returns an empty list if no process follows."""
    live = live_now(place)
    return live.sessions if live else ()


class FollowedRows:
    """The rows that a process follows now, of the store at `place` (None: the user's). A look costs microseconds."""

    def __init__(self, place: StorePlace | None) -> None:
        self._now = FollowedNow(local_path(place))
        self._follower = 0
        self._rows: dict[str, FollowedRow] = {}

    def __call__(self, session_id: str) -> FollowedRow | None:
        if said := self._now.read():
            self._follower, self._rows = said.follower, {row.session_id: row for row in said.sessions}
        row = self._rows.get(session_id)
        return row if row and this_system.runs(self._follower) else None

    def close(self) -> None:
        """Closes what is kept open to notice changes."""
        self._now.close()


def live_now(place: StorePlace | None) -> LiveSessions | None:
    """Returns what a process that follows now shows; None if no process follows into the store at `place`."""
    live = FollowedNow(local_path(place)).read()
    return live if live and this_system.runs(live.follower) else None


# Bytes of a file that is read whole because its end does not say the figure, and of the files that are counted whole
# because they are shown, those of running conversations first: a user waits for these.
_LARGEST, _MOST = 64 << 20, 12 << 20
# Conversations that a screen shows at once, about.
_SCREEN = 20
# Bytes of a file that a prompt is believed to have had, and how many of them make one of text: records have much else.
_BEFORE, _TEXT = 128 << 10, 3
_MODEL = b'"model":"'
# Rows of each table of a database that are read for a figure: a few messages with their parts, or some dozens.
_ROWS = 6, 200
# Records at the beginning of a file that say what the conversation is.
_FACTS = 8
_FIGURE = (
    *("messages", "used", "used_source", "percent", "window", "window_source"),
    *("compacts_at", "compacts_at_source", "calls_left", "idle", "cache", "moment", "rate_limits", "warnings"),
)
# What besides the figure only the process that follows knows, or knows better.
_FOLLOWED = ("nearness", "session_id", "model", "updated_at", "follower")


class KnownConversations:
    """The conversations of agents on this machine, as their files are now. Making one brings the catalogue next to the
    store at `place` (None: the user's) up to date, and blocks while it reads. `machine` is by default this one.

    `found` are the conversations, without those of sub-agents, the last changed first, `sides` those whose path says
    that they are sub-agents', and `unread` the files and databases that could not be read. `forgotten` is the number of
    those that the user had the store forget. After `seconds` no more are read: `left` is the number of those that are
    new, and are missing, or have changed, and are as they were. The next one reads them.

    With `origin`, which begins the agent's id of a wanted conversation, no others are read if a place or the catalogue
    says which those are.
    """

    def __init__(
        self,
        workspace: Workspace,
        place: StorePlace | None,
        machine: Machine | None = None,
        seconds: float = math.inf,
        origin: str = "",
    ) -> None:
        until = time.monotonic() + seconds
        path = local_path(place)
        self._told = SqliteTold(path)
        self._rows = CatalogueRows(workspace, self._told.windows().get, self._told.model)
        self._is_off = workspace.settings.notices is Notices.OFF
        self._catalogue = SqliteCatalogue(path)
        self._candidates: dict[str, Candidate] = {}
        self.left = 0
        unread: list[UnreadFile] = []
        machine = machine or this_machine(str(Path.cwd()))
        known, changed = self._catalogue.read(), list[KnownConversation]()
        live = live_now(place)
        self._follower = live.follower if live else 0
        found: list[KnownConversation] = []
        candidates, self.sides, self.forgotten = all_candidates(path, machine, unread)
        # The others do not wait for a large file, of which all may have to be read.
        candidates.sort(key=lambda one: (one.row is None and one.size > _MOST, -one.updated_at))
        # Of a database's size each conversation has a share.
        self._in_file = Counter(one.path for one in candidates)
        everything = [(_name_of(one), one) for one in candidates]
        named = [
            (name, one)
            for name, one in (everything if origin else ())
            if begins(one.origin_id, origin) or (name in known and begins(known[name].agent_session_id, origin))
        ]
        for name, candidate in named or everything:
            one = known.get(name)
            self._candidates[name] = candidate
            if one is None or one.stat != candidate.stat or one.basis != _basis(self._rows, one):
                if time.monotonic() > until:
                    self.left += 1
                    found += [one] if one is not None else []
                    continue
                read = _read(self._rows, candidate, name)
                changed.append(read)
                # Who follows a conversation has read all of it; nothing shows another figure.
                is_followed = one is not None and one.follower == self._follower != 0
                one = _as_followed(read, one) if one is not None and is_followed else read
            elif one.run != candidate.run:
                # Another conversation in the same database is gone.
                changed.append(one := replace(one, run=candidate.run))
            found.append(one)
        self._write(changed, known.keys() - {name for name, _ in everything})
        unread += [UnreadFile(path=one.path, reason=one.reason) for one in found if one.reason and not one.cwd]
        self.unread = tuple(unread)
        found.sort(key=lambda one: -one.updated_at)
        self._all = found
        self.found = tuple(_without_copies(one for one in found if not one.is_side))

    def read_closer(
        self,
        shown: Sequence[KnownConversation],
        runs: Callable[[KnownConversation], bool] | None = None,
        most: int = _MOST,
    ) -> list[KnownConversation]:
        """Returns these conversations with the figures that a reading of their whole files gives, and with what their
        agents said of the user's rate limits. Figures are left as they are, with their sources, after `most` bytes, and
        after the first screen those of conversations that do not continue. `runs` says whether one does, by default
        whether it has changed not long ago."""
        closer: dict[str, KnownConversation] = {}
        for place, one in enumerate(shown):
            candidate = self._candidates[one.place]
            size = candidate.size // self._in_file[candidate.path]
            if one.is_sure or one.reason or size > most:
                continue
            continues = runs(one) if runs else is_recent(changed_at(one), int(time.time() * 1000))
            if place >= _SCREEN and not continues:
                continue
            # How fast a context grows, by which its calls are foretold, an earlier part of the file says, and whether a
            # piece of work has ended the whole.
            is_long = one.calls_left is None or (one.used or 0) >= LONG
            if (
                not (is_long and continues)
                and one.used_source is UsageSource.REPORTED
                and candidate.row is None
                and not has_all(one.path, (candidate.sessions.marks,))
            ):
                closer[one.place] = replace(one, is_sure=True)
            else:
                most -= size
                read = _read(self._rows, candidate, one.place, counts=True)
                closer[one.place] = replace(read, begins=one.begins)
        self._write(closer.values(), ())
        read, told = (closer.get(one.place, one) for one in shown), self._told.windows()
        return [
            replace(
                one,
                rate_limits=(one.agent_session_id in told and self._told.rate_limits(one.agent_session_id))
                or one.rate_limits,
                # It may be known from a time when the user wanted to know it.
                moment=None if self._is_off else one.moment,
            )
            for one in read
        ]

    def with_id(self, origin: str) -> list[KnownConversation]:
        """Returns the conversations whose agents' id is `origin`; if there are none, those whose id begins so. Those of
        sub-agents are among them."""
        found = [one for one in self._all if begins(one.agent_session_id, origin)]
        named = (side for side in self.sides if begins(side.origin_id, origin))
        found += [_read(self._rows, side, side.path) for side in named]
        found = [one for one in found if one.agent_session_id == origin] or found
        return [*_without_copies(sorted(found, key=lambda one: -one.updated_at))]

    def of_folder(self, folder: Path | None) -> list[tuple[KnownConversation, Candidate]]:
        """Returns all files and rows with a conversation that began in a folder or one in it (None: all), also those of
        sub-agents and earlier runs, the first changed first."""
        name = None if folder is None else str(folder)
        found = [(one, self._candidates[one.place]) for one in self._all if name is None or belongs(one, name)]
        stems = {one.path.rpartition(".")[0] for one, _ in found}
        for side in self.sides:
            above = {str(parent) for parent in Path(side.path).parents}
            if name is None or is_kept_for(side.path, name) or above & stems:
                found.append((_bare(side, side.path), side))
        return sorted(found, key=lambda one: changed_at(one[0]))

    def found_of(self, one: KnownConversation, folder: str = "") -> Found:
        """Returns a conversation as those see it who read its file, in `folder` if only its place says so."""
        candidate = self._candidates.get(one.place)
        return Found(
            path=one.path,
            agent=one.agent,
            format=one.format,
            updated_at=changed_at(one),
            size=candidate.size if candidate else one.stat[0],
            run=one.run,
            origin_id=one.agent_session_id,
            title=one.title,
            cwd=one.cwd or (folder if belongs(one, folder) else ""),
            model=one.model,
            used=one.used,
            window=one.window,
            percent=one.percent,
        )

    def _write(self, changed: Collection[KnownConversation], gone: Collection[str]) -> None:
        if changed or gone:
            # Without it, all is read again the next time.
            with suppress(StoreError):
                self._catalogue.write(changed, gone, self._follower)


def find_known(
    workspace: Workspace, place: StorePlace | None, wanted: Wanted, machine: Machine | None = None
) -> Discovery:
    """Returns the wanted conversations from the catalogue next to the store at `place`, which is brought up to date;
    see `FindTranscripts`. Those of sub-agents are among them if an id is wanted."""
    machine = machine or this_machine(wanted.folder)
    known = KnownConversations(workspace, place, machine, origin=wanted.origin)
    found = known.with_id(wanted.origin) if wanted.origin else known.found
    found = sorted((one for one in found if one.cwd or one.agent_session_id), key=lambda one: -changed_at(one))
    here = [one for one in found if belongs(one, wanted.folder)]
    others = [] if wanted.alone else [one for one in found if not belongs(one, wanted.folder)]
    chosen = [known.found_of(one, wanted.folder) for one in (*here, *others)[: wanted.limit]]
    return Discovery(conversations=tuple(chosen), unread=known.unread)


def belongs(one: KnownConversation, folder: str) -> bool:
    """Returns whether a conversation began in a folder or one in it, or is kept for that: where an agent keeps a
    conversation is where it looks for it, whatever the folder was called before."""
    return is_in(one.cwd, folder) or is_kept_for(one.path, folder)


class StoredCopies:
    """The stored sessions that were read from agents' conversations, as the store is now."""

    def __init__(self, workspace: Workspace) -> None:
        self._store = workspace.ports.store
        # The last created first.
        imported = self._store.imported()
        self.all = [((one.format, one.origin_id), one.session_id) for one in imported]
        self._newest = dict(reversed(self.all))
        self._by_path = {one.path: one.session_id for one in reversed(imported)}

    def of(self, one: KnownConversation) -> str | None:
        """Returns the session that has all of a conversation, or None."""
        return self._whole(self._newest.get((one.format, one.agent_session_id)), changed_at(one))

    def of_file(self, path: str, updated_at: int) -> str | None:
        """Returns the session that has all of a file that changed last at this time, or None."""
        return self._whole(self._by_path.get(path), updated_at)

    def _whole(self, session_id: str | None, updated_at: int) -> str | None:
        info = known_info(self._store, session_id) if session_id else None
        return session_id if info and info.updated_at >= updated_at else None


def rows_of_sessions(
    workspace: Workspace, place: StorePlace | None, wanted: Collection[str]
) -> Mapping[str, FollowedRow]:
    """Returns, by session id, the row of the agent's conversation that the session was read from. The figure is the
    agent's, also if the session lacks the conversation's end."""
    sessions = {session_id: key for key, session_id in StoredCopies(workspace).all if session_id in wanted}
    if not sessions:
        return {}
    known, keys = KnownConversations(workspace, place), set(sessions.values())
    found = known.read_closer([one for one in known.found if (one.format, one.agent_session_id) in keys])
    rows = {(one.format, one.agent_session_id): as_followed(one) for one in found if one.used is not None}
    return {
        session_id: replace(rows[key], session_id=session_id) for session_id, key in sessions.items() if key in rows
    }


def changed_at(one: KnownConversation) -> int:
    """Returns the time of the last change of the conversation's file, in Unix milliseconds."""
    return one.stat[1] // 1_000_000 if one.stat[0] else one.stat[1]


def all_candidates(
    store_path: Path, machine: Machine, unread: list[UnreadFile]
) -> tuple[list[Candidate], list[Candidate], int]:
    """Returns all conversations of agents on a machine whose path does not say that they are sub-agents', and those
    whose path does; and, of the first, the number of those that the user had the store forget, which are left out."""
    times, own, sides = ForgottenList(store_path).read(), list[Candidate](), list[Candidate]()
    forgotten = set[tuple[str, str]]()
    for one in find_candidates(machine, AGENTS, unread):
        is_side = one.sessions.is_sub_agent(one.name)
        if times and one.updated_at <= times.get(forgotten_key(one.path, one.origin_id if one.row else ""), -1):
            if not is_side:
                forgotten.add((one.agent.name, one.origin_id))
            continue
        (sides if is_side else own).append(one)
    return own, sides, len(forgotten)


def _name_of(candidate: Candidate) -> str:
    return candidate.path if candidate.row is None else kept_path(candidate.path, candidate.origin_id)


def _as_followed(one: KnownConversation, row: KnownConversation) -> KnownConversation:
    """Returns a conversation with the figure of the process that follows it, unless that is older."""
    if row.updated_at < one.updated_at:
        return one
    figure = {name: getattr(row, name) for name in (*_FIGURE, *_FOLLOWED)}
    return replace(one, **figure, is_sure=True, reason="")


def families(found: Sequence[KnownConversation]) -> list[list[KnownConversation]]:
    """Returns the conversations together that have a beginning in common: forks, and runs that were resumed in another
    file of the folder. The order of `found` is kept, among the families and in each."""
    known = Families()
    for one in found:
        begins = one.begins and f"{os.path.dirname(one.path)} {one.begins}"  # noqa: PTH120 - there are thousands
        names = filter(None, (one.agent_session_id, one.forked_from, begins))
        known.add(one.place, [(one.agent, name) for name in names])
    grouped: dict[Hashable, list[KnownConversation]] = {}
    for one in found:
        grouped.setdefault(known.of(one.place), []).append(one)
    return [*grouped.values()]


def _without_copies(found: Iterable[KnownConversation]) -> Iterable[KnownConversation]:
    """Returns each conversation once: some agents write another file each time a conversation is resumed, and a file
    may have several names. Of these, it is the last changed in which a user has typed something: Gemini CLI writes its
    own first message to another file, and then continues the earlier one."""
    shown: dict[tuple[str, str], KnownConversation] = {}
    for one in found:
        key = one.agent, one.agent_session_id or one.place
        if key not in shown or (one.title and not shown[key].title):
            shown[key] = one
    return shown.values()


def _basis(rows: CatalogueRows, one: KnownConversation) -> bytes:
    return rows.basis(one.agent, one.format, one.cwd, one.model, one.agent_session_id)


def _read(rows: CatalogueRows, candidate: Candidate, name: str, *, counts: bool = False) -> KnownConversation:
    """Returns a conversation as its file says it now. One that can't be read has the reason."""
    bare = _bare(candidate, name)
    try:
        one = _with_figure(rows, candidate, bare, counts=counts)
    except (OSError, InvalidRequest) as error:
        one = replace(bare, reason=reason_of(error))
    except UllageError as error:
        one = replace(bare, reason=str(error))
    return of_agent(replace(one, basis=_basis(rows, one)), one.agent)


def _bare(candidate: Candidate, name: str) -> KnownConversation:
    """Returns what is known of a conversation before its file is read."""
    return KnownConversation(
        place=name,
        agent=candidate.agent.name,
        agent_session_id=candidate.origin_id if candidate.row else "",
        path=candidate.path,
        run=candidate.run,
        format=candidate.agent.formats[-1].name if candidate.agent.formats else candidate.sessions.format,
        updated_at=candidate.updated_at,
        stat=candidate.stat,
        is_side=candidate.sessions.is_sub_agent(candidate.name),
    )


def _with_figure(
    rows: CatalogueRows, candidate: Candidate, bare: KnownConversation, *, counts: bool
) -> KnownConversation:
    """Returns a conversation with what its file says of it. Raises `UllageError` and `OSError`."""
    if counts or candidate.row is not None:
        return _read_on(rows, candidate, bare, None, counts=counts)
    with file_ends(candidate.path, candidate.size, partial(_title_in, candidate)) as ends:
        quick = next((read for known in candidate.agent.formats if (read := _at_end(known, ends))), None)
        # An answer at the end of a file has no messages beside it. What precedes it in a longer file may be compacted.
        least = min(candidate.size, _BEFORE) // _TEXT
        row = quick and rows.row(quick, is_whole=False, least=least)
        if ends is None or quick is None or row is None:
            return _read_on(rows, candidate, bare, ends, counts=False)
        bare = replace(bare, is_whole=False, format=quick.format, forked_from=_origin_of(quick))
        return _described(candidate, Document(name=candidate.path, lines=ends.first), bare, row, ends)


def _at_end(known: Format, ends: FileEnds | None) -> ImportedTranscript | None:
    return known.at_end(ends) if known.at_end and ends else None


def _origin_of(transcript: ImportedTranscript) -> str:
    return "" if transcript.is_sub_agent else transcript.parent


def _read_on(
    rows: CatalogueRows, candidate: Candidate, bare: KnownConversation, ends: FileEnds | None, *, counts: bool
) -> KnownConversation:
    """Returns the same from as many records as that takes."""
    document, row = Document(name=candidate.path, lines=ends.first if ends else ()), None
    documents = _documents(candidate, ends, counts=counts)
    while found := next(documents, None):
        document, gap = found
        is_whole = gap is None
        bare = replace(bare, is_whole=is_whole)
        try:
            known = _format_of(candidate, document)
            if known.begins_another and not is_whole:
                continue
            bare = replace(bare, format=known.name)
            read = document if gap is None else from_last_answer(known, document, gap)
            transcript = known.read(read)
            bare = replace(bare, forked_from=_origin_of(transcript))
            if not is_whole and ends_with_edit(transcript):
                if ends and ends_with_compaction(transcript):
                    begun = known.read(Document(name=candidate.path, lines=ends.begun()))
                    row = rows.row(transcript, is_whole=False, begun=begun.events)
                    break
                # Only the whole file says what a compaction has left.
                documents = documents if candidate.row else _whole(candidate)
                continue
            row = rows.row(transcript, is_whole=is_whole, counts=counts)
            if ends and row is not None and not is_whole:
                # The model of a long turn, and its window, are named at its beginning.
                is_told = row.window_source is WindowSource.AGENT or not known.window_mark
                marks = (*(() if row.model else (_MODEL,)), *(() if is_told else (known.window_mark,)))
                if named := [line for mark in marks if (line := ends.last_with(mark))]:
                    more = replace(read, lines=(read.lines[0], *named, *read.lines[1:]))
                    row = rows.row(known.read(more), is_whole=False) or row
        except (UnknownFormat, UnreadableTranscript):
            # More of the file may show what it is. If there is no more, it has no message yet.
            continue
        if row is not None:
            break
    if row is None and not bare.is_whole:
        bare = replace(bare, reason="its end does not say the figure, and it is too large to be read here")
    row = row or FollowedRow(session_id="", agent="")
    return _described(candidate, document, replace(bare, is_sure=counts), row, ends)


def _documents(candidate: Candidate, ends: FileEnds | None, *, counts: bool) -> Iterator[tuple[Document, int | None]]:
    """Yields larger and larger parts of a file, and after how many lines a gap may be; None for the whole."""
    path = Path(candidate.path)
    if candidate.row is not None:
        for most in () if counts else _ROWS:
            document = read_database(path, candidate.origin_id, most)
            is_whole = max(Counter(one.get("table") for one in document.objects).values(), default=0) < most
            yield document, None if is_whole else len(document.lines)
            if is_whole:
                return
        yield whole_document(candidate), None
        return
    for part in ends.parts() if ends else ():
        document = with_reports(path, Document(name=candidate.path, lines=(*part.first, *part.last)))
        # A fork may begin in another file.
        is_whole = part.is_whole and not candidate.agent.references(document)
        gap = len(document.lines) if part.is_whole else len(part.first)
        yield document, None if is_whole else gap
        if is_whole:
            return
    yield from _whole(candidate)


def _whole(candidate: Candidate) -> Iterator[tuple[Document, None]]:
    if candidate.size <= _LARGEST:
        yield whole_document(candidate), None


def whole_document(candidate: Candidate) -> Document:
    """Returns all of a conversation's file or row. Raises `InvalidRequest` and `OSError` if it can't be read."""
    path = Path(candidate.path)
    if candidate.row is not None:
        return read_database(path, candidate.origin_id)
    return read_transcript_file(path, candidate.run)


def _title_in(candidate: Candidate, line: Line) -> str:
    return candidate.sessions.title_of((line.value,)) if line.value else ""


def _format_of(candidate: Candidate, document: Document) -> Format:
    own = next((known for known in candidate.agent.formats if known.matches(document)), None)
    return own or detect_format(document)


def _first_objects(document: Document) -> tuple[JsonObject, ...]:
    if document.lines or document.value is None:
        return tuple(document.objects[:_FACTS])
    value: Any = document.value
    return tuple(as_objects(value if isinstance(value, list) else [value])[:_FACTS])  # pyright: ignore[reportUnknownArgumentType]


def _described(
    candidate: Candidate, document: Document, bare: KnownConversation, row: FollowedRow, ends: FileEnds | None
) -> KnownConversation:
    sessions, facts = candidate.sessions, Facts()
    beside = tuple(read_fact_files(candidate)) if sessions.fact_files(candidate.name) else ()
    own = (candidate.row,) if candidate.row else _first_objects(document)
    records = own + beside
    if beside or candidate.row or not (row.cwd and row.agent_session_id):
        facts = sessions.facts_of(candidate.name, records)
    named = ends.named() if ends and not bare.is_whole else ()
    title = (beside or named) and sessions.title_of((*records, *named))
    first = (ends and ends.title) or sessions.title_of(records)
    title = title or row.title or first
    began = as_text((ends.first[-1].value or {}).get("timestamp")) if ends else ""
    is_quick = row.used_source is not UsageSource.ESTIMATED and (row.used or 0) < LONG
    is_sure = bare.is_whole and (bare.is_sure or is_quick)
    return replace(
        bare,
        is_sure=is_sure,
        format=bare.format if row.agent_session_id else format_of(candidate.agent, candidate.name, own),
        agent_session_id=row.agent_session_id or facts.session_id or candidate.origin_id,
        title=title,
        begins=began and f"{began} {first}",
        cwd=row.cwd or facts.cwd,
        parent=row.parent or facts.parent,
        is_side=bool(row.parent) or facts.is_side,
        updated_at=row.updated_at or bare.updated_at,
        model=row.model or facts.model,
        **{name: getattr(row, name) for name in _FIGURE},
    )


log = logging.getLogger(__name__)


# The pause after a conversation, as a multiple of the time that its reading took: a fifth of one processor.
_REST = 4.0


class ReadingAll:
    """The conversations of agents on this machine that the store at `place` (None: the user's) lacks. Making
    one looks for them, and blocks. Those that another process follows are left to it. Those of sub-agents are read
    after all others. `machine` is by default this one.

    `total` is the number of conversations, and `left` of those that are still to be read.
    """

    def __init__(self, workspace: Workspace, place: StorePlace | None, machine: Machine | None = None) -> None:
        machine = machine or this_machine(str(Path.cwd()))
        found = KnownConversations(workspace, place, machine)
        known = sorted(found.found, key=changed_at, reverse=True)
        sides = sorted(found.sides, key=lambda one: -one.updated_at)
        live = live_now(place)
        copies, followed = StoredCopies(workspace), {row.path for row in live.sessions} if live else set[str]()
        self._workspace = workspace
        self._known = found
        path = local_path(place)
        self._lease = FileLease(beside(path, READER))
        missing = [
            FoundFile(path=Path(one.path), agent=one.agent, run=one.run, origin_id=one.agent_session_id)
            for one in known
            if (one.used is not None or not one.is_whole) and copies.of(one) is None
        ]
        missing += [
            FoundFile(path=Path(one.path), agent=one.agent.name, origin_id=one.origin_id, is_side=True)
            for one in sides
            if copies.of_file(one.path, one.updated_at) is None
        ]
        self._missing = [one for one in missing if str(one.path) not in followed]
        # What changes from now on is read by the process that follows.
        self._is_followed, self._looked = live is not None, time.time()
        self.total, self.left = len(known) + len(sides), len(self._missing)

    @staticmethod
    def has_place(place: StorePlace | None) -> bool:
        return is_there(place) or any(all_candidates(local_path(place), this_machine(str(Path.cwd())), [])[:2])

    async def count(self) -> AsyncGenerator[None]:
        """Counts in the catalogue what was estimated of conversations, one after the other."""
        for one in self._known.found:
            if one.used_source is UsageSource.ESTIMATED and not one.is_sure:
                await asyncio.to_thread(self._known.read_closer, [one], most=_LARGEST)
                yield

    async def read(self, words: Sequence[Collection[str]] = ()) -> AsyncGenerator[str]:
        """Reads what is missing, one conversation after the other, and yields the id of each session, "" if there is
        none. Files that have all of `words`, each in one of its forms in small letters, come before all others. Reads
        nothing while another process does: two would make two sessions of one conversation. Raises `StoreError`."""
        if self._missing and not self._lease.take():
            return
        # The longest word is the rarest, mostly. Another spelling is found when all has been read.
        spelt = [_in_files(forms) for forms in sorted(words, key=lambda forms: -max(map(len, forms)))]
        others: list[FoundFile] = []
        # A database has thousands of conversations in one file.
        has_words = cache(partial(_has_words, spelt=spelt))
        try:
            for file in self._missing:
                if not spelt or await asyncio.to_thread(has_words, file.path):
                    yield await self._read(file)
                else:
                    others.append(file)
                    yield ""
            for file in others:
                yield await self._read(file)
        finally:
            self._lease.give_up()

    async def _read(self, file: FoundFile) -> str:
        was_open = {conversation.id for conversation in self._workspace.conversations}
        try:
            if self._is_followed and (file.path.stat().st_mtime > self._looked):
                return ""
            conversation = await read_conversation(self._workspace, GrowingFiles(), file)
        except (InputError, NotFound, OSError) as error:
            log.info("%s is not read: %s", file.path, error)
            conversation = None
        self.left -= 1
        if conversation is None:
            return ""
        if conversation.id not in was_open:
            # Thousands are not kept in memory.
            await self._workspace.end(conversation.id)
        return conversation.id


def _in_files(forms: Collection[str]) -> list[bytes]:
    """Returns how files write a word, of which these are forms in small letters: some escape all but ASCII."""
    cases = [case for form in forms for case in (form, form.capitalize(), form.upper())]
    return [text.encode() for case in cases for text in {case, json.dumps(case)[1:-1]}]


def _has_words(path: Path, spelt: Sequence[Sequence[bytes]]) -> bool:
    try:
        return has_all(path, spelt)
    except OSError:
        return False


async def read_in_background(workspace: Workspace, place: StorePlace | None, machine: Machine | None = None) -> None:
    """Counts what lists have estimated, and reads and indexes what the store lacks, with pauses."""
    loop = asyncio.get_running_loop()

    async def rest(began: float) -> float:
        await asyncio.sleep(_REST * (loop.time() - began))
        return loop.time()

    try:
        reading = await asyncio.to_thread(ReadingAll, workspace, place, machine)
        began = loop.time()
        async for _ in reading.count():
            began = await rest(began)
        async for session_id in reading.read():
            if session_id:
                # It may have been forgotten just now.
                with suppress(SessionNotFound):
                    await index_session(workspace, session_id, lambda _: None)
            began = await rest(began)
    except StoreError as error:
        log.warning("Could not read older conversations: %s", error)
