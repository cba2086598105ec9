"""Builds the follower of the agents' conversations on this machine."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.discovery import Wanted, kept_path, origin_in
from ullage.agents.table import AGENTS
from ullage.app.running_now import LiveRowsShown, running_agents
from ullage.model.errors import InputError, NotFound
from ullage.model.settings import ArchiveSettings
from ullage.model.usage import FollowedRow
from ullage.service.archive.naming import Listed, list_found
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.follow.followed_file import ENDED, FollowedFile
from ullage.service.follow.keep_originals import OriginalsKeeper
from ullage.service.follow.reminders import Reminders
from ullage.service.follow.rows import Following, row_of
from ullage.service.ports.agent_files import AgentPorts, FoundFile, KeptPorts, Source
from ullage.service.ports.world import FollowingListener, KeepingQuestion
from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.catalogue_notes import ForgottenList, Keeping, SqliteReadings, SqliteTold, ToldOnce
from ullage.store.sqlite.known_catalogue import SqliteReadFiles, forgotten_key
from ullage.store.store_place import StorePlace, local_path
from ullage.system.desktop import notify, shows
from ullage.system.growing_files import GrowingFiles
from ullage.system.shared_files import FileLease
from ullage.system.transcript_files import AgentOriginals
from ullage.system.watched_folders import WatchedFolders
from ullage.watch.candidates import Candidate, find_candidates, is_of_sub_agent, this_machine

log = logging.getLogger(__name__)
# Seconds: a server follows the conversations that have changed in this time.
_SINCE = 3600.0


def make_follower(
    workspace: Workspace, place: StorePlace | None, listener: Callable[[FollowedRow], object], since: float
) -> AgentFollower:
    """Returns a follower of the conversations that changed in the last `since` seconds, not yet running. `place`
    is that of the workspace's store, by default the user's; the lease and the live file of this machine are next to
    it. If the user wants conversations kept, it also reads those that changed before, so that a search finds them."""
    path = local_path(place)
    lease = FileLease(path.with_name(f"{path.name}.follower"))
    live = LiveRowsShown(path, lambda: shows(workspace.settings.notices))
    told = SqliteTold(path)
    reminders = Reminders(workspace, _notify, ToldOnce(path), _clock)

    def take(row: FollowedRow) -> None:
        reminders.take(row)
        listener(row)

    ports = AgentPorts(
        files=GrowingFiles(),
        find=partial(changed_since, path),
        lease=lease,
        processes=running_agents,
        live=live,
        told=told,
        read=SqliteReadFiles(path),
        readings=SqliteReadings(path),
        process_id=os.getpid(),
        read_older=partial(_read_older, workspace, place) if Keeping(path).wanted else None,
        close=lambda: (live.close(), told.close(), reminders.close()),
        watching=WatchedFolders(this_machine, AGENTS, path, is_local=place is None or Path(place) == path),
    )
    return AgentFollower(workspace, ports, take, since, _make_keeper(workspace, path))


def _notify(text: str) -> None:
    """Shows a notification on the desktop, without waiting for it. To be called on the event loop."""
    asyncio.get_running_loop().run_in_executor(None, notify, text)


def _clock(at: int) -> str:
    return time.strftime("%H:%M", time.localtime(at / 1_000))


async def _read_older(workspace: Workspace, place: StorePlace | None) -> None:
    # It reads by what is here, and nothing else of a server's start needs it.
    from ullage.app.known_conversations import read_in_background  # noqa: PLC0415

    await read_in_background(workspace, place)


def _make_keeper(workspace: Workspace, store_path: Path) -> OriginalsKeeper | None:
    """Returns what keeps the agents' files once the user has said that they are to be kept; None if the settings say
    that they are not."""
    settings = workspace.settings.archive
    if not settings.enabled:
        return None
    opening = partial(SqliteOriginals, archive_path(store_path))
    ports = KeptPorts(
        open=opening,
        files=AgentOriginals(),
        find=partial(find_sources, store_path),
        is_wanted=lambda: Keeping(store_path).wanted is True,
    )
    return OriginalsKeeper(ports, _most_bytes(settings))


def _most_bytes(settings: ArchiveSettings) -> int | None:
    return None if settings.limit is None else int(settings.limit * 1e9)


def changed_since(store_path: Path, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
    """Returns the agents' transcripts on this machine that changed in the last `seconds`, the last changed first, so
    that the conversation that a user looks at is read first. Those of sub-agents are last, so that the conversations
    that have started them are known. Those that the user has Ullage forget are left out until they change."""
    since = (time.time() - seconds) * 1000
    recent = sorted(_candidates(store_path, paths), key=lambda one: -one.updated_at)
    found = [
        # A row is named by its id: its number changes when another conversation is deleted.
        FoundFile(
            path=Path(candidate.path),
            agent=candidate.agent.name,
            origin_id=candidate.origin_id,
            is_side=is_of_sub_agent(candidate),
        )
        for candidate in recent
        if candidate.updated_at >= since
    ]
    return sorted(found, key=lambda one: one.is_side)


def _candidates(store_path: Path, paths: Collection[str] | None = None) -> list[Candidate]:
    """Returns all conversations of agents on this machine, without those that the user had the store forget."""
    found, forgotten = find_candidates(this_machine(), AGENTS, [], paths), ForgottenList(store_path).read()
    if not forgotten:
        return [*found]
    return [
        one
        for one in found
        if one.updated_at > forgotten.get(forgotten_key(one.path, one.origin_id if one.row else ""), -1)
    ]


def make_following(workspace: Workspace, place: StorePlace | None, listener: FollowingListener) -> Following:
    """Returns what follows agents' conversations in a server, off at first. `listener` gets the changes."""

    async def run(take: Callable[[FollowedRow], object]) -> None:
        await make_follower(workspace, place, take, _SINCE).run()

    async def read_newest(folder: str) -> FollowedRow | None:
        listing = await list_found(workspace, Wanted(limit=1, folder=folder, alone=True))
        for listed in listing.conversations:
            try:
                return await _read(workspace, listed)
            except (InputError, NotFound) as error:
                log.info("%s is not shown: %s", listed.found.path, error)
        return None

    return Following(
        workspace, run, read_newest, listener, KeepingAnswer(local_path(place), workspace.settings.archive)
    )


class KeepingAnswer:
    """The user's answer to whether agents' files are kept in the archive next to the store, which is asked once."""

    def __init__(self, store_path: Path, settings: ArchiveSettings) -> None:
        self._store_path = store_path
        self._settings = settings
        self._keeping = Keeping(store_path)

    def question(self) -> KeepingQuestion | None:
        if self._keeping.wanted is not None or not self._settings.enabled:
            return None
        sources, files = find_sources(self._store_path), AgentOriginals()
        return KeepingQuestion(
            conversations=len(sources),
            size=sum(stat[0] for one in sources if (stat := files.stat(one.path))),
            path=str(archive_path(self._store_path)),
            limit=_most_bytes(self._settings),
        )

    def answer(self, *, keep: bool) -> None:
        self._keeping.answer(keep=keep)


async def _read(workspace: Workspace, listed: Listed) -> FollowedRow | None:
    """Reads a conversation into its session, unless that has it already. Returns its row, which shows what the file
    ends with, too; None if it has no message."""
    found = listed.found
    known = listed.session_id and workspace.ports.store.info(listed.session_id)
    is_quiet = workspace.ports.clock.now() - found.updated_at > ENDED * 1000
    if known and known.updated_at >= found.updated_at and is_quiet:
        conversation = workspace.open(known.session_id)
    else:
        file = FollowedFile(
            workspace, GrowingFiles(), FoundFile(path=Path(found.path), run=found.run, origin_id=found.origin_id)
        )
        await file.read_all()
        conversation = await file.look_ahead() or file.conversation
    if conversation is None:
        return None
    row = row_of(conversation)
    return replace(
        row, agent=row.agent or found.agent, agent_session_id=row.agent_session_id or found.origin_id, path=found.path
    )


def find_sources(store_path: Path) -> Sequence[Source]:
    """Returns the conversations' own files of all agents on this machine, and those in agents' databases, the oldest
    first. Those of sub-agents come after all others, because most of them are kept with the conversation that has
    started them. Those that the user has Ullage forget are left out until they change."""
    found = sorted(_candidates(store_path), key=lambda one: (one.sessions.is_sub_agent(one.name), one.updated_at))
    return [
        Source(
            path=path,
            agent=one.agent.name,
            origin_id=one.origin_id if one.row else origin_in(one.name),
            changed_at=one.updated_at if one.row else 0,
        )
        for one in found
        if (path := kept_path(one.path, one.origin_id if one.row else ""))
    ]
