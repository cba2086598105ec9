"""The connection to one MCP server: opened, used and closed by means of the official SDK, which this module imports."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, Implementation, Tool
from msgspec import Struct

from ullage import __version__
from ullage.service.ports.models import ToolOutcome
from ullage.tools.offered.described import Server, StdioServer
from ullage.tools.offered.server_results import read_result

log = logging.getLogger(__name__)
# A server with more pages of tools than this offers more than a model can use.
_MOST_PAGES = 20
# Seconds, as the SDK has them for its own connections: a server may keep a response open without a word.
_CONNECTING, _SILENCE = 30.0, 300.0
_US = Implementation(name="ullage", title="Ullage", version=__version__)
_ENDED = "has ended; it is started again with the next prompt"


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds. `start`: until a server has named its tools; some download themselves first. `call`: for one tool call;
    builds and tests take minutes. `end`: until a server is left to itself; the SDK ends its program within seven."""

    start: float = 60.0
    call: float = 600.0
    end: float = 15.0


class ServerLink:
    """The connection to one server, which opens at once. One task opens and closes it, because the SDK demands that.
    `tools` are those that the server named when it was opened."""

    def __init__(self, server: Server, folder: str, patience: Patience) -> None:
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        self._patience = patience
        self._client: Client | None = None
        self._ends = asyncio.Event()
        self._settled = asyncio.Event()
        self._fault = ""
        self._life = asyncio.create_task(self._live(folder), name=f"MCP server {server.name}")

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None and not self._life.done()

    async def opened(self) -> str:
        """Waits until the server has named its tools. Returns why it cannot be used, or "" if it can."""
        try:
            async with asyncio.timeout(self._patience.start):
                await self._settled.wait()
        except TimeoutError:
            await self.close()
            return f"it did not start within {self._patience.start:g} s"
        return self._fault

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its result. A server's error, its end or its silence is a result that says so. If
        the task is cancelled, the server is asked to cancel the call."""
        if self._client is None:
            return self._failed(_ENDED)
        try:
            result = await self._client.call_tool(tool, arguments, read_timeout_seconds=self._patience.call)
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                return self._failed(f"did not answer within {self._patience.call:g} s")
            if error.code == CONNECTION_CLOSED:
                self._client = None
                self._ends.set()
                return self._failed(_ENDED)
            return ToolOutcome(text=str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - the errors of transports have no common base
            return self._failed(f"could not be asked: {error or type(error).__name__}")
        return read_result(result)

    async def close(self) -> None:
        """Ends the connection, and the server's program if it has one. Bounded; does nothing the second time."""
        self._ends.set()
        if not self._settled.is_set():
            # A server that does not start is not waited for.
            self._life.cancel()
        _, left = await asyncio.wait([self._life], timeout=self._patience.end)
        if left:
            self._life.cancel()
            log.warning("MCP server %s does not end", self.server.name)

    def _failed(self, how: str) -> ToolOutcome:
        return ToolOutcome(text=f"The MCP server {self.server.name} {how}.", is_error=True)

    async def _live(self, folder: str) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(await _client(self.server, folder, stack))
                self.tools = await _named_tools(client)
                self._client = client
                self._settled.set()
                await self._ends.wait()
        except Exception as error:  # noqa: BLE001 - the errors of transports have no common base
            self._fault = _reason(error)
            log.info("MCP server %s: %s", self.server.name, self._fault)
        finally:
            self._client = None
            self._settled.set()


async def _client(server: Server, folder: str, stack: AsyncExitStack) -> Client:
    """Returns the SDK's client, not connected yet. `initialize` is sent at once, because servers of before 2026 may
    break at what the SDK would try first."""
    if isinstance(server, StdioServer):
        # The SDK adds `PATH`, `HOME` and the like of ours, and nothing that may be a key.
        program = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=folder if folder and Path(folder).is_dir() else None,
        )
        return Client(program, mode="legacy", client_info=_US, cache=None)
    client = httpx2.AsyncClient(headers=dict(server.headers), timeout=httpx2.Timeout(_CONNECTING, read=_SILENCE))
    http = await stack.enter_async_context(client)
    transport = streamable_http_client(server.url, http_client=http)
    return Client(transport, mode="legacy", client_info=_US, cache=None)


async def _named_tools(client: Client) -> tuple[Tool, ...]:
    if client.server_capabilities.tools is None:
        return ()
    tools: list[Tool] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(tools)


def _reason(error: BaseException) -> str:
    """Returns why a connection failed, in words of the innermost error: the SDK's task groups wrap errors."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0]
    return str(inner) or type(inner).__name__
