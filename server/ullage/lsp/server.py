"""The Language Server: our methods, the commands and the settings on one protocol."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from ullage.api.permissions import ClientPermissions
from ullage.api.table import AnyMethod
from ullage.lsp.announce import UPDATE_METHOD, Announcer
from ullage.lsp.client import read_client
from ullage.lsp.commands import Command, CommandRunner, ExecuteCommandParams
from ullage.lsp.configuration import Configuration, DidChangeConfigurationParams
from ullage.lsp.connection import LspConnection, watch_process
from ullage.lsp.progress import ProgressBoard
from ullage.lsp.protocol import Handler, UllageProtocol
from ullage.lsp.trace import Trace, TracedConnection
from ullage.model.settings import Settings
from ullage.service.conversation.workspace import Workspace
from ullage.system.stdio import claim_stdout, serve_descriptors

log = logging.getLogger(__name__)
PREFIX = "ullage/"


class WorkspaceHooks(Struct, frozen=True, kw_only=True):
    """What the door does to the workspace beside calling its methods.

    `open` is called once, at the first use, not before `initialize` is answered; `warm_up` in a thread once the client
    is `initialized`, to have ready what the first request would wait for; `configure` with every change of settings;
    `cancel_compaction` with a session's id when the person cancels a compaction that came by itself.
    """

    open: Callable[[Announcer], Workspace]
    warm_up: Callable[[], object]
    configure: Callable[[Workspace, Settings], object]
    cancel_compaction: Callable[[Workspace, str], object]


class ProgressCancelParams(Struct, frozen=True):
    """The params of `window/workDoneProgress/cancel`."""

    token: int | str


class UllageServer(LanguageServer):
    """pygls' server with our protocol; `connection` is the way in and out."""

    def __init__(self, version: str) -> None:
        untyped: Any = super()
        untyped.__init__(
            "ullage",
            version,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=UllageProtocol,
            converter_factory=default_converter,
        )

    @property
    def connection(self) -> UllageProtocol:
        """`protocol`, by the type it was made with."""
        assert isinstance(self.protocol, UllageProtocol)
        return self.protocol

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Into the log: a toast with a library's words helps nobody."""
        log.error("%s", source.__name__, exc_info=error)


class _Door:
    """Joins the parts of one server and owns its workspace."""

    def __init__(
        self, server: UllageServer, hooks: WorkspaceHooks, methods: Sequence[AnyMethod], commands: Sequence[Command]
    ) -> None:
        self._protocol = server.connection
        self._hooks = hooks
        self._methods = methods
        self._version = server.version
        self._opened: Workspace | None = None
        self._board = ProgressBoard(server.connection)
        self._announcer = Announcer(server.connection, self._board, self._cancel_compaction)
        self._configuration = Configuration(server.connection, self._configure, self._announcer.warn)
        self._commands = CommandRunner(commands, self.workspace, self._board, self._announcer)

    def workspace(self) -> Workspace:
        """The workspace, opened at the first use."""
        if self._opened is None:
            self._opened = self._hooks.open(self._announcer)
            if self._announcer.client.asks_permission:
                self._opened.permissions = ClientPermissions(self._protocol.questions.ask, PREFIX)
            self._hooks.configure(self._opened, self._configuration.settings)
        return self._opened

    def install(self) -> None:
        """Adds every route to the protocol."""
        for method in self._methods:
            self._protocol.add_route(PREFIX + method.name, method.params, self._serve(method))
        self._protocol.add_route(types.WORKSPACE_EXECUTE_COMMAND, ExecuteCommandParams, self._commands.execute)
        self._protocol.add_route(
            types.WORKSPACE_DID_CHANGE_CONFIGURATION, DidChangeConfigurationParams, self._configuration.change
        )
        self._protocol.add_route(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, ProgressCancelParams, self._cancel_progress)
        self._protocol.add_route(types.INITIALIZED, Any, self._initialized)
        self._protocol.on_initialize = self._initialize

    def _serve(self, method: AnyMethod) -> Handler:
        def handle(params: Any) -> Coroutine[Any, Any, Any]:
            return _call(method, self.workspace, params)

        return handle

    def _initialize(self, params: types.InitializeParams, result: types.InitializeResult) -> None:
        self._announce(result.capabilities)
        client = read_client(params)
        self._announcer.client = client
        self._board.may_create = client.shows_progress
        if params.process_id is not None:
            watch_process(params.process_id, self._protocol)
        self._protocol.spawn(self._configuration.start(client))

    async def _initialized(self, params: Any) -> None:
        # A daemon, so that a client that leaves at once is not waited for.
        threading.Thread(target=self._hooks.warm_up, name="warm-up", daemon=True).start()
        await self._configuration.subscribe(params)

    def _announce(self, capabilities: types.ServerCapabilities) -> None:
        # No documents: their text would be sent to us for nothing.
        capabilities.text_document_sync = types.TextDocumentSyncOptions(open_close=False)
        capabilities.execute_command_provider = types.ExecuteCommandOptions(
            commands=self._commands.names, work_done_progress=True
        )
        capabilities.experimental = {
            "ullage": {
                "version": self._version,
                "methods": [PREFIX + method.name for method in self._methods],
                "updates": UPDATE_METHOD,
            }
        }

    async def _cancel_progress(self, params: ProgressCancelParams) -> None:
        self._board.cancel(params.token)

    def _cancel_compaction(self, session_id: str) -> None:
        self._hooks.cancel_compaction(self.workspace(), session_id)

    def _configure(self, settings: Settings) -> None:
        if self._opened is not None:
            self._hooks.configure(self._opened, settings)


def build_server(
    hooks: WorkspaceHooks, methods: Sequence[AnyMethod], commands: Sequence[Command], version: str
) -> UllageServer:
    """A server for one client, which serves each method as `ullage/<name>` and lists each command."""
    server = UllageServer(version)
    _Door(server, hooks, methods, commands).install()
    return server


def serve(server: UllageServer, trace: Trace | None = None) -> int:
    """Serves standard input and output until the client is done; returns the process' exit status."""
    stdout = claim_stdout()
    connection = LspConnection(server.connection)
    try:
        return asyncio.run(serve_descriptors(TracedConnection(connection, trace) if trace else connection, 0, stdout))
    except KeyboardInterrupt:
        return 130
    finally:
        if trace:
            trace.close()


async def _call(method: AnyMethod, workspace: Callable[[], Workspace], params: Any) -> Any:
    return await method.handler(workspace(), params)
