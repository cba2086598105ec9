"""Builds the Language Server and serves it on standard input and output."""

from contextlib import closing
from pathlib import Path

from ullage import __version__
from ullage.api.methods import METHODS
from ullage.app.debugging import unix_milliseconds
from ullage.app.process import share_the_interpreter, warm_up
from ullage.lsp.announce import Announcer
from ullage.lsp.framing import MAX_BODY
from ullage.lsp.palette import COMMANDS
from ullage.lsp.server import LspServer, WorkspaceHooks
from ullage.lsp.trace import TracedConnection, open_trace
from ullage.service.conversation.follow import Follower
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import serve_stdio


def serve_language_server(store_path: Path | None, trace_path: Path | None = None) -> int:
    """Serves one client until it is done.

    Returns the exit status. Raises `InvalidRequest` if the trace can't be written.
    """
    share_the_interpreter()
    connection = make_language_server(store_path).connection
    if trace_path is None:
        return serve_stdio(connection)
    with closing(open_trace(trace_path, unix_milliseconds)) as trace:
        return serve_stdio(TracedConnection(connection, trace))


def make_language_server(store_path: Path | None, max_body: int = MAX_BODY) -> LspServer:
    """Builds the server, not yet connected."""

    def open_workspace(announcer: Announcer) -> Workspace:
        # Imported here, because store, catalog and tokenizer would delay the answer to `initialize`, which doesn't need
        # them.
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        workspace = build_workspace(store_path)
        workspace.bus.listen(announcer)
        workspace.indexing_listeners.append(announcer)
        Follower(workspace).start()
        return workspace

    hooks = WorkspaceHooks(
        open=open_workspace, warm_up=warm_up, configure=Workspace.configure, cancel_compaction=Workspace.cancel
    )
    return LspServer(hooks, METHODS, COMMANDS, __version__, max_body)
