"""Builds the Language Server and serves it on standard input and output."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from ullage import __version__
from ullage.api.methods import METHODS
from ullage.app.serving import OpeningFailure, share_the_interpreter, unix_milliseconds, warm_up
from ullage.app.telemetry import request_span
from ullage.jsonrpc.envelope import MAX_BODY
from ullage.lsp.server import COMMANDS, Announcer, LspServer, TracedConnection, WorkspaceHooks, open_trace
from ullage.model.settings import Settings, private_patterns
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import serve_stdio
from ullage.system.team_choices import PrivatePatterns, keep_private, private_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Imports the store, which the answer to `initialize` does not need.
    from ullage.store.store_place import StorePlace


def serve_language_server(place: "StorePlace | None", trace_path: Path | None = None) -> int:
    """Serves one Language Server client on standard input and output until it is done. Returns the exit status.

    `place` says where the store is, or None for the one that the settings name, else the one in the user's data folder.
    If `trace_path` is given, every message is appended to that file. Raises `InvalidRequest` if the file can't be
    written.
    """
    share_the_interpreter()
    closing = AsyncExitStack()
    connection = make_language_server(closing, place).connection
    if trace_path is None:
        return serve_stdio(connection, closing)
    trace = open_trace(trace_path, unix_milliseconds)
    closing.callback(trace.close)
    return serve_stdio(TracedConnection(connection, trace), closing)


def make_language_server(closing: AsyncExitStack, place: "StorePlace | None", max_body: int = MAX_BODY) -> LspServer:
    """Builds the Language Server, not yet connected to a client.

    The store and the connections that it opens are closed when `closing` ends. `place` says where the store is, or
    None for the one that the settings name, else the one in the user's data folder. `max_body` is the size of the
    largest message that is accepted, in bytes.
    """
    failure = OpeningFailure()

    def open_workspace(announcer: Announcer, settings: Settings) -> Workspace:
        # Store, catalog and tokenizer would delay the answer to `initialize`, which doesn't need them.
        from ullage.app.session_continuing import open_for_editor  # noqa: PLC0415

        chosen = place or settings.store or None
        return failure.opened(lambda: open_for_editor(closing, chosen, settings, announcer))

    hooks = WorkspaceHooks(
        open=open_workspace,
        warm_up=warm_up,
        configure=Workspace.configure,
        cancel_compaction=Workspace.cancel,
        keep_private=_keep_private,
    )
    server = LspServer(hooks, METHODS, COMMANDS, __version__, max_body)
    server.connection.around = request_span
    return server


def _keep_private(editor: str, folders: Sequence[str], settings: Settings) -> None:
    private = PrivatePatterns(editor=editor, folders=tuple(folders), patterns=private_patterns(settings))
    keep_private(private_path(), private)
