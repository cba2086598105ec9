"""Puts a workspace together from the concrete store, catalog, clock and summariser."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ullage.app.memories import project_memory
from ullage.app.summary_prompts import read_summary_prompts
from ullage.catalog.limits import ContextLimits
from ullage.catalog.prices import price_of
from ullage.model.settings import Settings, SummarySettings
from ullage.providers.registry import ProviderRegistry
from ullage.service.archive.recall import RecallResult, recall
from ullage.service.conversation.workspace import Workspace
from ullage.service.managed import managed_workspace
from ullage.service.ports.models import Summarizer
from ullage.service.ports.ports import Ports
from ullage.service.ports.store import SessionStore
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.store.sqlite_store import open_store
from ullage.system.commands import SubprocessRunner
from ullage.system.project_files import LocalProjectFiles
from ullage.tools.toolbox import LocalToolbox


class SystemClock:
    """The machine's time."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class RandomIds:
    """Identifiers that no other process will make, ordered by time within one."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time.time_ns() // 1_000_000:011x}{os.urandom(5).hex()}"


def build_workspace(store_path: Path | None, settings: Settings | None = None) -> Workspace:
    """A workspace on the store at `store_path`, or in the user's data folder. Raises `StoreError`."""
    return workspace_on(open_store(store_path), settings, store_path)


@contextmanager
def open_workspace(store_path: Path | None, settings: Settings | None = None) -> Generator[Workspace]:
    """`build_workspace` for a while: the store is closed at the end. Without settings no model is ever asked."""
    settings = settings or Settings(summary=SummarySettings(writer="offline"))
    with open_store(store_path) as store:
        yield workspace_on(store, settings, store_path)


def workspace_on(
    store: SessionStore, settings: Settings | None, path: Path | None = None, summarizer: Summarizer | None = None
) -> Workspace:
    """A workspace on an open store, which lies at `path` if that is not the user's data folder; summaries are composed
    offline unless another summariser is given."""

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
        ids=RandomIds(),
        summarizer=summarizer or OfflineSummarizer(),
        providers=ProviderRegistry(),
        toolbox=LocalToolbox(partial(project_memory, store_path=path), look_up, open_text),
        prices=price_of,
        prompts=read_summary_prompts,
    )
    workspace = managed_workspace(ports, settings)
    return workspace
