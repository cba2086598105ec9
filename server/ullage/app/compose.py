"""Builds a workspace from the concrete store, catalog, clock and summarizer."""

import asyncio
import os
import random
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ullage.app.summary_prompts import read_summary_prompts
from ullage.catalog.limits import ContextLimits
from ullage.catalog.prices import price_of
from ullage.model.settings import Settings, SummarySettings
from ullage.providers.registry import ProviderRegistry
from ullage.service.archive.recall import RecallResult, recall
from ullage.service.compact.automatic import managed_workspace
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Summarizer
from ullage.service.ports.ports import Ports
from ullage.service.ports.store import SessionStore
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.store.project_memory import project_memory
from ullage.store.sqlite_store import open_store
from ullage.system.commands import SubprocessRunner
from ullage.system.project_files import LocalProjectFiles
from ullage.tools.toolbox import LocalToolbox


class SystemClock:
    """The machine's clock, in Unix milliseconds."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemChance:
    """The machine's random numbers."""

    def share(self) -> float:
        return random.random()


class RandomIds:
    """Makes unique ids. Ids made by one process sort by the time at which they were made, in milliseconds."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time.time_ns() // 1_000_000:011x}{os.urandom(5).hex()}"


def build_workspace(closing: AsyncExitStack, store_path: Path | None, settings: Settings | None = None) -> Workspace:
    """Opens the store at `store_path`, or in the user's data folder, and builds a workspace on it.

    When `closing` ends, the sessions end first, then the connections to providers are closed, then the store. Raises
    `StoreError`.
    """
    workspace = workspace_on(closing.enter_context(open_store(store_path)), settings, store_path)
    closing.push_async_callback(workspace.ports.providers.close)
    closing.push_async_callback(workspace.end_all)
    return workspace


@contextmanager
def open_workspace(store_path: Path | None, settings: Settings | None = None) -> Generator[Workspace]:
    """Opens a workspace and closes its store afterwards. Without settings, summaries are written offline."""
    settings = settings or Settings(summary=SummarySettings(writer="offline"))
    with open_store(store_path) as store:
        yield workspace_on(store, settings, store_path)


def workspace_on(
    store: SessionStore, settings: Settings | None, path: Path | None = None, summarizer: Summarizer | None = None
) -> Workspace:
    """Builds a workspace on an open store.

    `path` is the store's file, or None if it is in the user's data folder. Summaries are written offline unless
    `summarizer` is given.
    """

    async def look_up(session_id: str, arguments: Any) -> RecallResult:
        return await recall(workspace.open(session_id), arguments)

    async def open_text(session_id: str, path: str) -> str | None:
        editor = workspace.editor_files
        return None if editor is None else await editor.read_text(session_id, path)

    ports = Ports(
        store=store,
        catalog=ContextLimits.for_model,
        commands=SubprocessRunner(),
        project_files=LocalProjectFiles(),
        clock=SystemClock(),
        chance=SystemChance(),
        ids=RandomIds(),
        summarizer=summarizer or OfflineSummarizer(),
        providers=ProviderRegistry(),
        toolbox=LocalToolbox(partial(project_memory, store_path=path), look_up, open_text),
        prices=price_of,
        prompts=read_summary_prompts,
    )
    workspace = managed_workspace(ports, settings)
    return workspace
