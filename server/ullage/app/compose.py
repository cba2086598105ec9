"""Puts a workspace together from the concrete store, catalog, clock and summariser."""

import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ullage.catalog.limits import ContextLimits
from ullage.model.settings import Settings
from ullage.providers.registry import ProviderRegistry
from ullage.service.offline import OfflineSummarizer
from ullage.service.ports import Ports, SessionStore, Summarizer
from ullage.service.workspace import Workspace
from ullage.store.sqlite_store import open_store
from ullage.tools.toolbox import LocalToolbox


class SystemClock:
    """The machine's time."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class RandomIds:
    """Identifiers that no other process will make, ordered by time within one."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time.time_ns() // 1_000_000:011x}{uuid.uuid4().hex[:10]}"


def build_workspace(store_path: Path | None, settings: Settings | None = None) -> Workspace:
    """A workspace on the store at `store_path`, or in the user's data folder. Raises `StoreError`."""
    return workspace_on(open_store(store_path), settings)


@contextmanager
def open_workspace(store_path: Path | None, settings: Settings | None = None) -> Generator[Workspace]:
    """`build_workspace` for a while: the store is closed at the end."""
    with open_store(store_path) as store:
        yield workspace_on(store, settings)


def workspace_on(store: SessionStore, settings: Settings | None, summarizer: Summarizer | None = None) -> Workspace:
    """A workspace on an open store; summaries are composed offline unless another summariser is given."""
    ports = Ports(
        store=store,
        catalog=ContextLimits.for_model,
        clock=SystemClock(),
        ids=RandomIds(),
        summarizer=summarizer or OfflineSummarizer(),
        providers=ProviderRegistry(),
        toolbox=LocalToolbox(),
    )
    return Workspace(ports, settings)
