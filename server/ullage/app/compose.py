"""Builds a workspace from the concrete store, catalog, clock and other ports."""

import asyncio
import os
import random
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from ullage.app.chosen_team import TeamReading
from ullage.app.server_telemetry import ServerTelemetry
from ullage.app.session_traces import SessionTraces
from ullage.app.summary_prompts import read_summary_prompts
from ullage.app.telemetry import traced
from ullage.catalog.limits import ContextLimits, price_of
from ullage.model.errors import InvalidRequest
from ullage.model.figure import Keeper
from ullage.model.settings import ModelSettings, OfflineSettings, Settings, SummarySettings
from ullage.policy.alarm import is_due
from ullage.providers.registry import ProviderRegistry, embed
from ullage.service.archive.recall import recall
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Summarizer, ToolOutcome
from ullage.service.ports.ports import Ports
from ullage.service.ports.store import SessionStore, TakesNews, no_news
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.store.memories.project_memory import project_memory
from ullage.store.store_place import StorePlace, local_path, news_of, open_sessions_at
from ullage.system.agent_settings import LocalAgentSettings
from ullage.system.processes import SubprocessRunner
from ullage.system.project_files import LocalProjectFiles
from ullage.tools.read_linked import LocalLinkedFiles
from ullage.tools.toolbox import LocalToolbox
from ullage.watch.finder import AgentFiles, AgentsOwnFiles


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
    """Makes unique ids: a prefix, the time in milliseconds and random digits. Ids with the same prefix sort by the time
    at which they were made."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time.time_ns() // 1_000_000:011x}{os.urandom(5).hex()}"


def build_workspace(closing: AsyncExitStack, place: StorePlace | None, settings: Settings | None = None) -> Workspace:
    """Opens the store at a place and returns a workspace on it. None is the store in the user's data folder.

    When `closing` ends, the workspace's sessions are ended first, then the connections to providers are closed, then
    the store. Raises `StoreError` if the store can't be opened.
    """
    # A server is not to pause for this import at its first message.
    import_module("ullage.service.compact.automatic")
    offline = offline_settings((settings or Settings()).offline)
    store = closing.enter_context(open_sessions_at(place, keeps_files=True, offline=offline))
    workspace = workspace_on(traced(store), settings, local_path(place), news=news_of(store))
    workspace.bus.listen(ServerTelemetry(workspace))
    workspace.remove_traces = SessionTraces(place)
    team = TeamReading(lambda: workspace.settings.search.team_archive)
    workspace.team = team
    closing.callback(team.close)
    closing.push_async_callback(workspace.ports.providers.close)
    closing.push_async_callback(workspace.end_all)
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
        yield workspace


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

    `path` is that of the files next to it, None for the user's own. `summarizer` replaces the `OfflineSummarizer`.
    """

    async def look_up(session_id: str, arguments: Any) -> ToolOutcome:
        return await recall(workspace.open(session_id), arguments)

    async def open_text(session_id: str, path: str) -> str | None:
        editor = workspace.editor_files
        return None if editor is None else await editor.read_text(session_id, path)

    def opened(session_id: str) -> tuple[str, ...] | None:
        return workspace.open_folders.get(session_id, ()) if workspace.reads_open_folders else None

    def limits(model: str, overrides: Mapping[str, ModelSettings]) -> ContextLimits:
        known, editor = ContextLimits.for_model(model, overrides), workspace.editor_models
        offered = editor.offered(model) if editor else None
        if offered is None or known.is_set:
            return known
        return replace(known, input=offered.max_input_tokens, total=None)

    ports = Ports(
        store=store,
        catalog=limits,
        commands=SubprocessRunner(),
        project_files=LocalProjectFiles(),
        transcripts=AgentFiles(),
        agent_settings=LocalAgentSettings(),
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
    workspace = Workspace(ports, settings, _manage)
    workspace.linked_files, workspace.own_files = LocalLinkedFiles(open_text, opened), AgentsOwnFiles()
    return workspace


def _manage(changed: Changed) -> None:
    """Manages a conversation after a change, as `manage` does."""
    if _needs_nothing(changed.conversation):
        return
    # Imported on use: its import takes 60 ms, and commands that only read or follow are to start soon.
    from ullage.service.compact.automatic import manage  # noqa: PLC0415

    manage(changed)


def _needs_nothing(conversation: Conversation) -> bool:
    """Returns whether a conversation's context is not Ullage's to keep, and there is nothing to warn of."""
    budget = conversation.budget
    if conversation.keeper is Keeper.ULLAGE or conversation.guards.warned_due:
        return False
    if budget is None:
        return True
    is_quiet = not is_due(conversation.projection.alarm, conversation.sure, budget)
    return is_quiet and conversation.used < budget.compact_at
