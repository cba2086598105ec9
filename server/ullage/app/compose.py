"""Builds a workspace from the concrete store, known models, clock and other ports (a server's, a command's, or one on a
temporary store for conversations that are only read), and the follower of the agents' conversations on this machine.

Opens the archive that belongs to a store, and removes all that is kept of a conversation outside the store.
"""

import asyncio
import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UnsetType, ValidationError, convert
from msgspec.structs import replace

from ullage.agents.discovery import Discovery, Wanted, is_kept_for, kept_path, origin_in
from ullage.agents.table import AGENTS, agent_called
from ullage.agents.transcripts import read_document
from ullage.app.catalogue import (
    BegunCompactions,
    FollowedRows,
    LiveRowsShown,
    find_known,
    read_in_background,
    running_agents,
)
from ullage.app.team_sending import TeamReading, TeamSender
from ullage.app.telemetry import telemetry, traced
from ullage.bounds import OWN_FILE, SETTINGS, read_plain, read_text
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.host.side_files import ARCHIVE, FOLLOWER, HOOKS, LIVE, beside
from ullage.known_models import ContextLimits, price_of
from ullage.model.errors import InputError, InvalidRequest, NotFound, StoreError, UllageError
from ullage.model.settings import (
    ArchiveSettings,
    ContextSettings,
    Limit,
    ModelSettings,
    Notices,
    OfflineSettings,
    Settings,
    SummarySettings,
)
from ullage.model.updates import CompactionStatus, CompactionUpdate, Update, UsageUpdate
from ullage.model.usage import FollowedRow, Keeper, LiveSessions
from ullage.policy.budget import is_warning_due
from ullage.providers.registry import ProviderRegistry, embed
from ullage.service.archive.naming import Listed, list_found
from ullage.service.archive.search import recall
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.follow.followed_file import ENDED, FollowedFile
from ullage.service.follow.keep_originals import OriginalsKeeper
from ullage.service.follow.reminders import Reminders
from ullage.service.follow.rows import Following, row_of
from ullage.service.ports.agent_files import AgentPorts, FoundFile, KeptPorts, NoOwnFiles, Source
from ullage.service.ports.models import FollowingListener, KeepingQuestion, Ports, Summarizer, ToolOutcome
from ullage.service.ports.store import SessionStore, TakesNews, no_news
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.store.memories.memory_files import project_memory
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.catalogue import (
    ForgottenList,
    Keeping,
    SqliteCatalogue,
    SqliteReadFiles,
    SqliteReadings,
    SqliteTold,
    ToldOnce,
    forgotten_key,
)
from ullage.store.store_place import StorePlace, local_path, news_of, open_sessions_at
from ullage.system.desktop import notify, shows
from ullage.system.growing_files import AgentOriginals, GrowingFiles, read_transcript_file
from ullage.system.processes import SubprocessRunner
from ullage.system.settings_files import LocalAgentSettings
from ullage.system.shared_files import FileLease, replace_file
from ullage.system.surroundings import LocalProjectFiles
from ullage.system.watched_folders import WatchedFolders
from ullage.tools.folder_tools import resolve_inside
from ullage.tools.toolbox import LocalLinkedFiles, LocalToolbox
from ullage.watch.candidates import AgentsOwnFiles, Candidate, find_candidates, is_of_sub_agent, this_machine


@contextmanager
def open_originals(store: StorePlace | None) -> Generator[SqliteOriginals | None]:
    """Opens the archive that belongs to a session store (None: the user's) for the block. Yields None if there is no
    archive. Raises `StoreUnavailable` if it can't be used."""
    path = beside(local_path(store), ARCHIVE)
    if not path.exists():
        yield None
        return
    with SqliteOriginals(path) as originals:
        yield originals


class SessionTraces:
    """What is kept of an agent's session next to the store at a place (None: the user's).

    That is what hooks pass on, all that the catalogue has of it, its row of the live file, and its files in the
    archive.
    """

    def __init__(self, place: StorePlace | None) -> None:
        self._place = place
        self._path = local_path(place)

    def __call__(self, agent_session_id: str, path: str, /) -> None:
        """Removes all but what the archive has of the session to which its agent gave this id, in the agent's file at
        `path` and in others that are known. Each is read again when it changes. What can't be removed stays."""
        catalogue = SqliteCatalogue(self._path)
        for file in catalogue.files_of(path, agent_session_id):
            if file:
                # A clock that was wrong may have given the file a time that is still to come.
                own = find_candidates(this_machine(), AGENTS, [], [file])
                times = [one.updated_at for one in own if one.row is None or one.origin_id == agent_session_id]
                with suppress(StoreError):
                    ForgottenList(self._path).add(file, agent_session_id, max(time.time_ns() // 1_000_000, *times, 0))
            with suppress(StoreError):
                catalogue.remove(file, agent_session_id)
            self._rewrite_live_file(agent_session_id, file)
        if agent_session_id and Path(agent_session_id).name == agent_session_id:
            with suppress(OSError):
                for file in [*beside(self._path, HOOKS).iterdir()]:
                    # The temporary file of one that is being written has a longer suffix.
                    if file.name.startswith(f"{agent_session_id}."):
                        with suppress(OSError):
                            file.unlink()

    def remove_kept(self, agent_session_id: str, path: str, /) -> None:
        """Removes the files of this conversation from the archive. Blocks. Raises `StoreError`."""
        kept = path and kept_path(path, agent_session_id)
        if kept:
            with open_originals(self._place) as originals:
                if originals and originals.latest(kept):
                    originals.remove([kept])

    def _rewrite_live_file(self, origin_id: str, path: str) -> None:
        """Removes a conversation from the live file, which a process that follows writes again without it. It stays
        when that process has ended, while the catalogue has no such process any more."""

        def is_it(row: FollowedRow) -> bool:
            if path:
                return row.path == path and row.agent_session_id in (origin_id, "")
            return row.agent_session_id == origin_id != ""

        file = beside(self._path, LIVE)
        with suppress(StoreError, OSError, msgspec.MsgspecError):
            shown = msgspec.json.decode(read_plain(file, OWN_FILE), type=LiveSessions)
            left = tuple(row for row in shown.sessions if not is_it(row))
            if len(left) < len(shown.sessions):
                replace_file(file, msgspec.json.encode(replace(shown, sessions=left)))


class SystemClock:
    """The machine's clock: `now` returns Unix milliseconds, `wait` sleeps."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemChance:
    """The machine's random numbers: `share` returns a number from 0 to 1, 1 excluded."""

    def share(self) -> float:
        return random.random()


class RandomIds:
    """Makes unique ids: a prefix, the time in milliseconds and random digits. They sort by time."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time.time_ns() // 1_000_000:011x}{os.urandom(5).hex()}"


def build_workspace(closing: AsyncExitStack, place: StorePlace | None, settings: Settings | None = None) -> Workspace:
    """Opens the store at a place and returns a workspace on it, from which what is shared with a team is sent. None is
    the store in the user's data folder.

    When `closing` ends, the workspace's sessions are ended first, then the connections to providers are closed, then
    the store. Raises `StoreError` if the store can't be opened.
    """
    # A server is not to pause for this import at its first message.
    import_module("ullage.service.compact.automatic")
    offline = offline_settings((settings or Settings()).offline)
    store = closing.enter_context(open_sessions_at(place, keeps_files=True, offline=offline))
    workspace = workspace_on(traced(store), settings, local_path(place), news=news_of(store))
    workspace.bus.listen(ServerTelemetry(workspace))
    workspace.remove_traces, rows = SessionTraces(place), FollowedRows(place)
    told = SqliteTold(local_path(place))
    workspace.followed_row, workspace.rate_limits, workspace.told_window = rows, told.rate_limits, told
    closing.callback(rows.close)
    closing.callback(told.close)
    team = TeamReading(lambda: workspace.settings.search.team_archive)
    workspace.team = team
    closing.callback(team.close)
    closing.push_async_callback(workspace.ports.providers.close)
    closing.push_async_callback(workspace.end_all)
    closing.enter_context(TeamSender(place).running())
    return workspace


@contextmanager
def open_workspace(
    place: StorePlace | None, settings: Settings | None = None, *, to_read: bool = False
) -> Generator[Workspace]:
    """Opens a workspace for the block and closes its store afterwards. Without `settings`, summaries are written
    offline.

    `to_read` is for a caller that changes nothing. A missing store is then read as an empty one and is not created. A
    store file that the user may not write is copied, and changes are made in the copy and lost. What happened to a
    store on a server is printed to standard error. Raises `StoreError` if the store can't be opened.
    """
    settings = settings or Settings(summary=SummarySettings(writer="offline"))
    offline = offline_settings(settings.offline)
    with open_sessions_at(place, to_read=to_read, offline=offline) as store, _printed(news_of(store)):
        workspace = workspace_on(store, settings, local_path(place))
        if not to_read:
            workspace.remove_traces = SessionTraces(place)
        with closing(SqliteTold(local_path(place))) as told, closing(FollowedRows(place)) as rows:
            workspace.followed_row, workspace.rate_limits, workspace.told_window = rows, told.rate_limits, told
            yield workspace


def told_by_environment(settings: Settings) -> Settings:
    """Returns the settings with what the environment says: in ULLAGE_NOTICES one word of `Notices`, in ULLAGE_LIMIT a
    limit of the user's own for every conversation, tokens (`300k`) or US dollars (`$5`), and in ULLAGE_WARN_AT the
    share `context.warnAt`. Raises `InvalidRequest` if a variable says something else."""
    word, limit = os.environ.get("ULLAGE_NOTICES", ""), os.environ.get("ULLAGE_LIMIT", "")
    try:
        if word:
            settings = replace(settings, notices=Notices(word))
    except ValueError:
        raise InvalidRequest(f"ULLAGE_NOTICES is {word!r}: say {', '.join(Notices)}") from None
    if limit:
        number, unit = limit.lower().lstrip("$"), {"k": 1_000, "m": 1_000_000}.get(limit[-1].lower(), 1)
        try:
            amount = float(number.rstrip("km")) * unit
            own = convert({"cost": amount} if limit.startswith("$") else {"tokens": int(amount)}, Limit)
        except (ValueError, OverflowError, ValidationError):
            raise InvalidRequest(f"ULLAGE_LIMIT is {limit!r}: say tokens, as 300k, or dollars, as $5") from None
        settings = replace(settings, limits=(own, *settings.limits))
    if share := os.environ.get("ULLAGE_WARN_AT", ""):
        try:
            warn_at = convert({"warnAt": float(share)}, ContextSettings).warn_at
        except (ValueError, ValidationError):
            raise InvalidRequest(f"ULLAGE_WARN_AT is {share!r}: say a share, as 0.7") from None
        settings = replace(settings, context=replace(settings.context, warn_at=warn_at))
    return settings


def offline_settings(given: OfflineSettings) -> OfflineSettings:
    """Returns the settings of the copy of a store on a server: those of the environment variable ULLAGE_OFFLINE, `off`
    or the most gigabytes, else the given ones. Raises `InvalidRequest` if the variable says neither."""
    said = os.environ.get("ULLAGE_OFFLINE", "")
    if not said:
        return given
    if said == "off":
        return replace(given, enabled=False)
    try:
        return convert({"limit": float(said)}, OfflineSettings)
    except (ValueError, ValidationError):
        raise InvalidRequest(f"ULLAGE_OFFLINE is {said!r}: say `off`, or the most gigabytes, such as 0.5") from None


@contextmanager
def _printed(take_news: TakesNews) -> Generator[None]:
    """Prints what happened to the store before and in the block."""
    try:
        yield
    finally:
        for news in take_news():
            sys.stderr.write(f"ullage: {news.text}\n")


def workspace_on(
    store: SessionStore,
    settings: Settings | None,
    path: Path | None = None,
    summarizer: Summarizer | None = None,
    news: TakesNews = no_news,
) -> Workspace:
    """Returns a workspace on an open store. `news` says what happened to the store.

    `path` is where the files next to it are, None for the user's own. `summarizer` replaces the `OfflineSummarizer`.
    """

    async def look_up(session_id: str, arguments: Any) -> ToolOutcome:
        return await recall(workspace.open(session_id), arguments)

    async def open_text(session_id: str, path: str) -> str | None:
        editor = workspace.editor_files
        return None if editor is None else await editor(session_id, path)

    def opened(session_id: str) -> tuple[str, ...] | None:
        return workspace.open_folders.get(session_id, ()) if workspace.reads_open_folders else None

    def find_transcripts(wanted: Wanted) -> Discovery:
        return find_known(workspace, path, wanted)

    def limits(model: str, overrides: Mapping[str, ModelSettings]) -> ContextLimits:
        known, editor = ContextLimits.for_model(model, overrides), workspace.editor_models
        offered = editor.offered(model) if editor else None
        if offered is None or known.is_set:
            return known
        return replace(known, input=offered.max_input_tokens, total=None)

    settings_of_agents = LocalAgentSettings()
    ports = Ports(
        store=store,
        catalog=limits,
        commands=SubprocessRunner(),
        project_files=LocalProjectFiles(),
        transcripts=find_transcripts,
        agent_settings=settings_of_agents.read,
        instructions=settings_of_agents.instructions,
        clock=SystemClock(),
        chance=SystemChance(),
        ids=RandomIds(),
        summarizer=summarizer or OfflineSummarizer(),
        providers=ProviderRegistry(lambda: workspace.editor_models),
        toolbox=LocalToolbox(partial(project_memory, store_path=path), look_up, open_text, opened),
        prices=price_of,
        embed=embed,
        prompts=read_summary_prompts,
        store_news=news,
    )
    workspace = Workspace(ports, told_by_environment(settings or Settings()), _manage)
    workspace.linked_files, workspace.own_files = LocalLinkedFiles(open_text, opened), AgentsOwnFiles()
    return workspace


def _manage(changed: Changed) -> None:
    if changed.conversation.workspace.is_embedded or _needs_nothing(changed.conversation):
        return
    # Imported on use: its import takes 60 ms, and commands that only read or follow are to start soon.
    from ullage.service.compact.automatic import manage  # noqa: PLC0415

    manage(changed)


def _needs_nothing(conversation: Conversation) -> bool:
    budget = conversation.budget
    if conversation.keeper is Keeper.ULLAGE or conversation.guards.warned_due:
        return False
    if budget is None:
        return True
    is_quiet = not is_warning_due(conversation.projection.alarm, conversation.used_for_warnings, budget)
    return is_quiet and conversation.used < budget.compact_at


# The most conversations that are read to see what their agent adds to each request, and the most bytes of each, which
# are read within a second.
_EXAMPLES, _LARGEST = 5, 8 << 20


@contextmanager
def throwaway_workspace(settings: Settings) -> Generator[Workspace]:
    """Opens a workspace for the block, on a temporary store, which is deleted afterwards. Its sessions are copies, also
    of what an agent keeps, and may be edited."""
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_workspace(Path(folder) / "sessions.db", settings) as workspace,
    ):
        workspace.own_files = NoOwnFiles()
        yield workspace


def reading_settings(model: str, window: int | None) -> Settings:
    """Returns settings for a workspace that only reads a transcript of the model `model`. `window` replaces the model's
    window, in tokens.

    Nothing is compacted automatically, no file but the transcript is read, and no model writes summaries.
    """
    models = {model: ModelSettings(window=window)} if window else {}
    context = ContextSettings(enabled=False, bring_back="off")
    return Settings(model=model, models=models, context=context, summary=SummarySettings(writer="offline"))


def examples_of(word: str, folder: str) -> Iterator[ImportedTranscript]:
    """Yields the newest conversations on this machine of the agent that commands call `word`, a few, those of a folder
    first. Files that are large or can't be read are left out; if `word` means no agent, there are none."""
    agent = agent_called(word) if word else None
    if agent is None:
        return
    found = [one for one in find_candidates(this_machine(folder), (agent,), []) if not is_of_sub_agent(one)]
    found.sort(key=lambda one: (not is_kept_for(one.path, folder), -one.updated_at))
    for one in found[:_EXAMPLES]:
        if one.size <= _LARGEST:
            with suppress(UllageError):
                yield read_document(read_transcript_file(Path(one.path), one.run))


PROJECT_FILE = ".ullage/summary.md"
# Characters, some 5,000 tokens. A longer file was probably named by mistake.
_MOST_CHARS = 20_000


def read_summary_prompts(cwd: str, prompt_file: str, /) -> tuple[str, ...]:
    """Returns the texts of the user's instruction files: `prompt_file`, a path from the settings, then
    `.ullage/summary.md` in the project folder `cwd`.

    If `prompt_file` is "", or if the project has no such file, the tuple lacks that text. Raises `InvalidRequest` if a
    file can't be read, isn't UTF-8 text or has more than 20,000 characters, or if the project's file is a link to a
    place outside `cwd`.
    """
    own = (_read_prompt(Path(prompt_file).expanduser(), "ullage.summary.promptFile"),) if prompt_file else ()
    if not cwd or not Path(cwd, PROJECT_FILE).is_file():
        return own
    # A symbolic link in a project must not cause another file of the user to be sent to a model.
    return (*own, _read_prompt(resolve_inside(cwd, PROJECT_FILE), PROJECT_FILE))


def _read_prompt(path: Path, name: str) -> str:
    try:
        text = read_text(path, SETTINGS)
    except OSError as error:
        raise InvalidRequest(f"{name}: cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name}: {str(path)!r} is not a text file") from error
    if len(text) > _MOST_CHARS:
        raise InvalidRequest(f"{name}: {str(path)!r} has {len(text):,} characters; at most {_MOST_CHARS:,} are used")
    return text


class ServerTelemetry:
    """Records the figures and the compactions of a workspace's sessions, as a listener of its bus."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        # The spans of running compactions, by the compaction.
        self._running: dict[str, Any] = {}

    def session_updated(self, session_id: str, update: Update) -> None:
        found = telemetry()
        if found is None or (conversation := self._find(session_id)) is None:
            return
        match update:
            case UsageUpdate():
                found.measure(conversation)
            case CompactionUpdate(status=CompactionStatus.IN_PROGRESS, meta=meta) if not isinstance(meta, UnsetType):
                self._running[update.compaction_id] = found.begin(session_id, conversation.model, meta.ullage.trigger)
            case CompactionUpdate(meta=meta) if not isinstance(meta, UnsetType):
                span = self._running.pop(update.compaction_id, None)
                if span is not None:
                    is_done = update.status is CompactionStatus.COMPLETED
                    found.end(span, conversation.model, meta.ullage, is_done=is_done)
            case _:
                pass

    def _find(self, session_id: str) -> Conversation | None:
        return next((one for one in self._workspace.conversations if one.id == session_id), None)


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
    lease = FileLease(beside(path, FOLLOWER))
    live = LiveRowsShown(path, lambda: shows(workspace.settings.notices))
    reminders = Reminders(workspace, _notify, ToldOnce(path), _clock)

    def take(row: FollowedRow) -> None:
        reminders.take(row)
        listener(row)

    ports = AgentPorts(
        files=GrowingFiles(),
        find=partial(changed_since, path),
        lease=lease,
        processes=running_agents,
        compactions=BegunCompactions(path),
        live=live,
        read=SqliteReadFiles(path),
        readings=SqliteReadings(path),
        process_id=os.getpid(),
        read_older=partial(read_in_background, workspace, place) if Keeping(path).wanted else None,
        close=lambda: (live.close(), reminders.close()),
        watching=WatchedFolders(this_machine, AGENTS, path, is_local=place is None or Path(place) == path),
    )
    return AgentFollower(workspace, ports, take, since, _make_keeper(workspace, path))


def _notify(text: str) -> None:
    """Shows a notification on the desktop, without waiting for it. To be called on the event loop."""
    asyncio.get_running_loop().run_in_executor(None, notify, text)


def _clock(at: int) -> str:
    return time.strftime("%H:%M", time.localtime(at / 1_000))


def _make_keeper(workspace: Workspace, store_path: Path) -> OriginalsKeeper | None:
    """Returns what keeps the agents' files once the user has said so; None if the settings forbid it."""
    settings = workspace.settings.archive
    if not settings.enabled:
        return None
    opening = partial(SqliteOriginals, beside(store_path, ARCHIVE))
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
            path=str(beside(self._store_path, ARCHIVE)),
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
