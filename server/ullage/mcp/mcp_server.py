"""The MCP server of one client: its methods on one connection."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from msgspec import Struct, field

from ullage.api.engine import Handler
from ullage.jsonrpc.line_framing import MAX_LINE
from ullage.jsonrpc.rpc_errors import INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from ullage.mcp.asked import Asked
from ullage.mcp.connection import INITIALIZE, PING, McpConnection
from ullage.mcp.handshake import InitializeParams, InitializeResult, implementation, introduce
from ullage.mcp.session_resources import (
    RESOURCES,
    TEMPLATES,
    ReadResourceParams,
    Resource,
    ResourceTemplate,
    ResourceText,
    read_resource,
)
from ullage.mcp.tool_table import CallToolParams, CallToolResult, ListedTool, call_tool, listed_tools
from ullage.mcp.without_handshake import DISCOVER, DiscoverResult, completed, named_version


class ReadsOwn(Protocol):
    """Reads the conversation that a server belongs to."""

    async def read(self, meta: Mapping[str, Any]) -> Asked:
        """Returns the conversation, up to date. `meta` is what the client adds about the request that asks. Raises
        `UllageError` if there is none or it can't be read."""
        ...


class ListParams(Struct, frozen=True, kw_only=True):
    """The params of MCP's lists. Every list is one page, so no cursor is valid."""

    cursor: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any], name="_meta")


class DiscoverParams(Struct, frozen=True, kw_only=True):
    """The params of MCP's `DiscoverRequest`."""

    meta: dict[str, Any] = field(default_factory=dict[str, Any], name="_meta")


class Nothing(Struct, frozen=True):
    """MCP's `EmptyResult`."""


class ListToolsResult(Struct, frozen=True, kw_only=True):
    """MCP's `ListToolsResult`."""

    tools: tuple[ListedTool, ...]


class ListResourcesResult(Struct, frozen=True, kw_only=True):
    """MCP's `ListResourcesResult`."""

    resources: tuple[Resource, ...] = RESOURCES


class ListResourceTemplatesResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `ListResourceTemplatesResult`."""

    resource_templates: tuple[ResourceTemplate, ...] = TEMPLATES


class ReadResourceResult(Struct, frozen=True, kw_only=True):
    """MCP's `ReadResourceResult`."""

    contents: tuple[ResourceText, ...]


class McpServer:
    """The MCP server of one client. Its input and output pass through `connection`.

    `open_own` opens the store and makes what reads the conversation that the server belongs to; it is called once, at
    the first use. An agent starts a server in each of its sessions, and calls few of them, so nothing is loaded before.
    `max_line` is the length of the longest message that is accepted, in bytes. `has_team` says whether the user has a
    team, whose archive can be searched.
    """

    def __init__(
        self,
        open_own: Callable[[], ReadsOwn],
        version: str,
        max_line: int = MAX_LINE,
        has_team: Callable[[], bool] = lambda: True,
    ) -> None:
        self._open_own = open_own
        self._has_team = has_team
        self._own: ReadsOwn | None = None
        # A conversation is read up by one call at a time.
        self._reading = asyncio.Lock()
        self.connection = McpConnection(max_line)
        self._introduction = implementation(version)
        self.connection.add_route(INITIALIZE, InitializeParams, self._initialize)
        self.connection.add_route(PING, Any, self._ping)
        self._add(DISCOVER, DiscoverParams, self._discover, lasts=True)
        self._add("tools/list", ListParams, self._list_tools, lasts=True)
        self._add("tools/call", CallToolParams, self._call_tool, lasts=None)
        self._add("resources/list", ListParams, self._list_resources, lasts=True)
        self._add("resources/templates/list", ListParams, self._list_templates, lasts=True)
        self._add("resources/read", ReadResourceParams, self._read_resource, lasts=False)

    def _add(self, method: str, params: type[Struct], handler: Handler, *, lasts: bool | None) -> None:
        """Registers a method that is also answered without a handshake; `lasts` is as in `completed`."""

        async def answer(given: Any) -> Any:
            if not named_version(given.meta):
                return await handler(given)
            try:
                return completed(await handler(given), self._introduction, lasts=lasts)
            except RpcError as error:
                # Without a handshake there is no code of its own for an unknown resource.
                code = INVALID_PARAMS if error.code == RESOURCE_NOT_FOUND else error.code
                raise RpcError(code, str(error), error.kind) from error

        self.connection.add_route(method, params, answer)

    async def _discover(self, params: DiscoverParams) -> DiscoverResult:
        del params
        return DiscoverResult()

    async def _initialize(self, params: InitializeParams) -> InitializeResult:
        return introduce(self._introduction, params.protocol_version)

    async def _ping(self, params: Any) -> Nothing:
        del params
        return Nothing()

    async def _list_tools(self, params: ListParams) -> ListToolsResult:
        _require_first_page(params)
        return ListToolsResult(tools=listed_tools(has_team=self._has_team()))

    async def _call_tool(self, params: CallToolParams) -> CallToolResult:
        return await call_tool(params, partial(self._ask, params.meta))

    async def _list_resources(self, params: ListParams) -> ListResourcesResult:
        _require_first_page(params)
        return ListResourcesResult()

    async def _list_templates(self, params: ListParams) -> ListResourceTemplatesResult:
        _require_first_page(params)
        return ListResourceTemplatesResult()

    async def _read_resource(self, params: ReadResourceParams) -> ReadResourceResult:
        return ReadResourceResult(contents=(await read_resource(params.uri, partial(self._ask, params.meta)),))

    async def _ask(self, meta: Mapping[str, Any]) -> Asked:
        """Returns what a tool needs, with the conversation up to date. The first call opens the store. Raises
        `UllageError`."""
        async with self._reading:
            if self._own is None:
                self._own = self._open_own()
            return await self._own.read(meta)


def _require_first_page(params: ListParams) -> None:
    if params.cursor is not None:
        raise RpcError(INVALID_PARAMS, "There is no such cursor: the list has one page.", "InvalidRequest")
