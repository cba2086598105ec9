"""Builds the MCP server and serves it on standard input and output."""

import os
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from ullage import __version__
from ullage.jsonrpc.line_framing import MAX_LINE
from ullage.mcp.mcp_server import McpServer, ReadsOwn
from ullage.system.process_tree import ancestors
from ullage.system.stdio import serve_stdio


def serve_mcp(store_path: Path | None, session: str) -> int:
    """Serves one MCP client on standard input and output until it is done. Returns the exit status. `store_path` is the
    store's file, or None for the one in the user's data folder. `session` names the conversation, "" for the one in
    which an agent has started this process."""
    closing = AsyncExitStack()
    return serve_stdio(make_mcp_server(closing, store_path, session).connection, closing)


def make_mcp_server(
    closing: AsyncExitStack, store_path: Path | None, session: str = "", max_line: int = MAX_LINE
) -> McpServer:
    """Builds the MCP server, not yet connected to a client. The store that it opens is closed when `closing` ends."""

    def open_own() -> ReadsOwn:
        # Imported here, because store, catalog, tokenizer and the agents' formats would delay the answer to
        # `initialize`, which doesn't need them.
        from ullage.app.agent_following import followed_now, running_agents  # noqa: PLC0415
        from ullage.app.compose import build_workspace  # noqa: PLC0415
        from ullage.mcp.own_session import OwnSession, Surroundings  # noqa: PLC0415
        from ullage.system.growing_files import GrowingFiles  # noqa: PLC0415

        around = Surroundings(
            environment=os.environ,
            folder=Path.cwd(),
            parents=ancestors(os.getpid()),
            session=session,
            processes=running_agents,
            followed=partial(followed_now, store_path),
            files=GrowingFiles(),
        )
        return OwnSession(build_workspace(closing, store_path), around)

    return McpServer(open_own, __version__, max_line)
