"""Builds the proxy and serves it on standard input and output."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec.structs import replace

from ullage.app.serving import share_the_interpreter, warm_up
from ullage.app.telemetry import request_span
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions
from ullage.proxy.record import Store
from ullage.proxy.serve import serve_proxy
from ullage.service.conversation.workspace import Workspace
from ullage.store.store_place import StorePlace
from ullage.system.stdio import claim_stdout


def serve_acp_proxy(
    commands: Sequence[Sequence[str]], place: StorePlace | None, settings: Settings, options: ProxyOptions
) -> int:
    """Starts the first agent of those with these commands and serves one ACP client through the proxy, on standard
    input and output, until the client is done. Returns the exit status. Raises `InvalidRequest` if the agent can't be
    started."""
    closing = AsyncExitStack()

    def open_workspace() -> Workspace:
        from ullage.app.compose import build_workspace  # noqa: PLC0415
        from ullage.app.team_sending import TeamSender  # noqa: PLC0415

        workspace = build_workspace(closing, place, settings)
        closing.enter_context(TeamSender(place).running())
        return workspace

    async def serve() -> int:
        async with closing:
            store = Store(prepare=warm_up, open=open_workspace)
            return await serve_proxy(commands, store, replace(options, around=request_span), 0, claim_stdout())

    share_the_interpreter()
    return asyncio.run(serve())
