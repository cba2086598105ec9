"""The proxy, served on standard input and output."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ullage.acp.proxy.connection import ProxyOptions
from ullage.acp.proxy.recorder import Store
from ullage.acp.proxy.serve import serve_proxy
from ullage.service.workspace import Workspace
from ullage.system.stdio import claim_stdout
from ullage.tokens.vocabulary import warm_up


def run_proxy(command: Sequence[str], store_path: Path | None, options: ProxyOptions) -> int:
    """Stands in front of the agent until the client is done; the exit status."""

    def open_workspace() -> Workspace:
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        return build_workspace(store_path)

    store = Store(prepare=_prepare, open=open_workspace)
    return asyncio.run(serve_proxy(command, store, options, 0, claim_stdout()))


def _prepare() -> None:
    """Imports what opening a workspace imports, and loads the vocabulary that most models share."""
    import_module("ullage.app.compose")
    warm_up()
