"""Builds the proxy and serves it on standard input and output."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ullage.app.process import share_the_interpreter, warm_up
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions
from ullage.proxy.record.recorder import Store
from ullage.proxy.serve import serve_proxy
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import claim_stdout


def serve_acp_proxy(command: Sequence[str], store_path: Path | None, settings: Settings, options: ProxyOptions) -> int:
    """Serves one client in front of the agent that `command` starts, until the client is done. Returns the exit status.

    Raises `InvalidRequest` if the agent can't be started.
    """

    def open_workspace() -> Workspace:
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        return build_workspace(store_path, settings)

    share_the_interpreter()
    store = Store(prepare=warm_up, open=open_workspace)
    return asyncio.run(serve_proxy(command, store, options, 0, claim_stdout()))
