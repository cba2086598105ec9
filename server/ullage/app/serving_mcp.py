"""Builds the MCP server and serves it on standard input and output. Gives its tools to other doors."""

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ullage import __version__
from ullage.app.telemetry import request_span
from ullage.host import this_system
from ullage.jsonrpc.envelope import MAX_LINE, RpcError
from ullage.mcp.mcp_server import McpServer
from ullage.mcp.tool_table import CallToolParams
from ullage.model.errors import InvalidRequest, UllageError
from ullage.service.ports.models import LookUpResult
from ullage.system.stdio import serve_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Imports much that the answer to `initialize` does not need.
    from ullage.mcp.own_session import OwnSession
    from ullage.model.settings import Settings
    from ullage.service.conversation.workspace import Workspace
    from ullage.store.store_place import StorePlace


def serve_mcp(place: "StorePlace | None", session: str, settings: "Settings | None" = None) -> int:
    """Serves one MCP client on standard input and output until it is done. Returns the exit status. `place`
    says where the store is, or None for the one in the user's data folder. `session` names the conversation, "" for the
    one in which an agent has started this process."""
    closing = AsyncExitStack()
    return serve_stdio(make_mcp_server(closing, place, session, settings).connection, closing)


def make_mcp_server(
    closing: AsyncExitStack,
    place: "StorePlace | None",
    session: str = "",
    settings: "Settings | None" = None,
    max_line: int = MAX_LINE,
) -> McpServer:
    """Builds the MCP server, not yet connected to a client. The store that it opens is closed when `closing` ends."""

    def open_own() -> "OwnSession":
        # Imported here, because store, catalog, tokenizer and the agents' formats would delay the answer to
        # `initialize`, which doesn't need them.
        from ullage.app.catalogue import followed_now, running_agents  # noqa: PLC0415
        from ullage.app.compose import build_workspace  # noqa: PLC0415
        from ullage.mcp.own_session import OwnSession, Surroundings  # noqa: PLC0415
        from ullage.system.growing_files import GrowingFiles  # noqa: PLC0415

        around = Surroundings(
            environment=os.environ,
            folder=Path.cwd(),
            parents=this_system.ancestors(os.getpid()),
            session=session,
            processes=running_agents,
            followed=partial(followed_now, place),
            files=GrowingFiles(),
        )
        return OwnSession(build_workspace(closing, place, settings), around)

    def has_team() -> bool:
        from ullage.system.team_choices import archive_of, choices_path, read_choices  # noqa: PLC0415

        try:
            archive_of(settings.search.team_archive if settings else "", read_choices(choices_path()))
        except UllageError:
            return False
        return True

    server = McpServer(open_own, __version__, max_line, has_team)
    server.connection.around = request_span
    return server


class ConversationTools:
    """The MCP server's tools for any session of a workspace, so that all doors give the same results."""

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    async def __call__(self, session_id: str, tool: str, arguments: Mapping[str, Any], /) -> LookUpResult:
        # Imported on use, because few sessions are ever asked about.
        from ullage.mcp.looking_up import Asked, call_tool  # noqa: PLC0415

        own = self._workspace.open(session_id)

        async def asked() -> Asked:
            return Asked(own=own, folder=own.transcript.cwd, workspace=self._workspace)

        try:
            result = await call_tool(CallToolParams(name=tool, arguments=dict(arguments)), asked)
        except RpcError as error:
            raise InvalidRequest(str(error)) from error
        return LookUpResult(text="\n".join(part.text for part in result.content), is_error=result.is_error)
