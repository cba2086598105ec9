"""Builds the proxy and serves it on standard input and output."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec.structs import replace

from ullage.agents.table import AGENTS
from ullage.app.agent_wiring import OwnCommand, own_words
from ullage.app.serving import share_the_interpreter, warm_up
from ullage.app.telemetry import request_span
from ullage.model.json_values import JsonObject
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions as ProxyOptions
from ullage.proxy.handover import NAME
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

        return build_workspace(closing, place, settings)

    async def serve() -> int:
        async with closing:
            store = Store(prepare=warm_up, open=open_workspace)
            return await serve_proxy(commands, store, replace(options, around=request_span), 0, claim_stdout())

    share_the_interpreter()
    return asyncio.run(serve())


def own_server(store: str | None) -> JsonObject:
    """Returns Ullage's MCP server as a client of the Agent Client Protocol offers it."""
    command, *arguments = OwnCommand(words=own_words(), store=store).line("mcp")
    needed = sorted({name for agent in AGENTS for name in agent.withheld_variables} & os.environ.keys())
    return {
        "name": NAME,
        "command": command,
        "args": arguments,
        "env": [{"name": name, "value": os.environ[name]} for name in needed],
    }
