"""The Language Server: Ullage's methods, the commands and the settings on one connection."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace

from ullage.api.client_requests import ClientModels, ClientPermissions
from ullage.api.engine import Reply
from ullage.api.wire import AnyMethod
from ullage.lsp.announce import UPDATE_METHOD, Announcer
from ullage.lsp.commands import Command, CommandRunner, ExecuteCommandParams, OwnSession
from ullage.lsp.connection import LspConnection, ProgressBoard
from ullage.lsp.framing import MAX_BODY
from ullage.lsp.handshake import Configuration, DidChangeConfigurationParams, Pygls, read_client
from ullage.model.errors import UllageError
from ullage.model.settings import Settings
from ullage.service.conversation.workspace import Workspace

PREFIX = "ullage/"


class WorkspaceHooks(Struct, frozen=True, kw_only=True):
    """Functions that the program gives the Language Server.

    - `open`: opens the workspace, on the store that the settings name. Called at the first use, after `initialize` is
      answered, and again if it failed.
    - `warm_up`: called in a thread after `initialized`, to load what the first request would otherwise wait for.
    - `configure`: called with the workspace and its settings once it is opened, and at every change of the settings.
    - `cancel_compaction`: called with the workspace and a session's id when the user cancels an automatic compaction.
    - `keep_private`: called with the client's name, its folders and each settings that it sends. Keeps what they call
      private for commands without an editor. Raises `StoreError` if it can't.
    """

    open: Callable[[Announcer, Settings], Workspace]
    warm_up: Callable[[], object]
    configure: Callable[[Workspace, Settings], object]
    cancel_compaction: Callable[[Workspace, str], object]
    keep_private: Callable[[str, Sequence[str], Settings], object] = lambda _, __, ___: None


class ProgressCancelParams(Struct, frozen=True):
    """The params of `window/workDoneProgress/cancel`."""

    token: int | str


class LspServer:
    """The Language Server of one client, with the workspace.

    It serves each method as `ullage/<name>`, and each command by `workspace/executeCommand`. `connection` takes the
    client's bytes and writes the server's. `max_body` is the size of the largest message that is accepted, in bytes.
    """

    def __init__(
        self,
        hooks: WorkspaceHooks,
        methods: Sequence[AnyMethod],
        commands: Sequence[Command],
        version: str,
        max_body: int = MAX_BODY,
    ) -> None:
        self._hooks = hooks
        self._methods = methods
        self._version = version
        self._opened: Workspace | None = None
        # The setting `store` when the workspace was opened.
        self._store = ""
        self.connection = LspConnection(max_body)
        self._pygls = Pygls("ullage", version, self.connection.converter)
        self._board = ProgressBoard(self.connection)
        self._announcer = Announcer(self.connection, self._board, self._cancel_compaction, self._title_of)
        self._own = OwnSession(lambda: self._announcer.client.folders)
        self._configuration = Configuration(self.connection, self._configure, self._announcer.warn, self._keep_private)
        self._commands = CommandRunner(commands, self.workspace, self._board, self._announcer, self._own)
        self._install()

    def workspace(self) -> Workspace:
        """Returns the workspace. The first call opens it and applies the client's settings. Raises `StoreError` if the
        store can't be opened."""
        if self._opened is None:
            settings = self._configuration.settings
            self._opened = self._hooks.open(self._announcer, settings)
            self._store = settings.store
            if self._announcer.client.asks_permission:
                self._opened.permissions = ClientPermissions(self.connection.ask, PREFIX)
            if self._announcer.client.offers_models:
                self._opened.editor_models = ClientModels(self.connection.ask, PREFIX)
            self._opened.trusts_projects = self._announcer.client.trusts_folder
            self._hooks.configure(self._opened, settings)
        return self._opened

    def _install(self) -> None:
        connection = self.connection
        connection.add_methods(PREFIX, [self._noted(method) for method in self._methods], self.workspace)
        connection.add_standard_route(types.INITIALIZE, self._initialize)
        connection.add_standard_route(types.SET_TRACE, _ignore)
        connection.add_route(types.INITIALIZED, Any, self._initialized)
        connection.add_route(types.WORKSPACE_EXECUTE_COMMAND, ExecuteCommandParams, self._commands.execute)
        connection.add_route(
            types.WORKSPACE_DID_CHANGE_CONFIGURATION, DidChangeConfigurationParams, self._configuration.change
        )
        connection.add_route(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, ProgressCancelParams, self._cancel_progress)

    async def _initialize(self, params: types.InitializeParams) -> Reply:
        result = await self._pygls.initialize(params)
        self._announce(result["capabilities"])
        client = read_client(params)
        self._announcer.client = client
        self._board.may_create = client.shows_progress
        if params.process_id is not None:
            self.connection.watch_process(params.process_id)
        return Reply(result, lambda: self._configuration.start(client))

    async def _initialized(self, params: Any) -> None:
        # A daemon, so that the program ends at once if the client disconnects during the warm-up.
        threading.Thread(target=self._hooks.warm_up, name="warm-up", daemon=True).start()
        await self._configuration.subscribe(params)

    def _announce(self, capabilities: dict[str, Any]) -> None:
        # No documents: otherwise the client would send their text, which Ullage doesn't use.
        capabilities["textDocumentSync"] = {"openClose": False}
        capabilities["executeCommandProvider"] = {"commands": self._commands.names, "workDoneProgress": True}
        capabilities["experimental"] = {
            "ullage": {
                "version": self._version,
                "methods": [PREFIX + method.name for method in self._methods],
                "updates": UPDATE_METHOD,
            }
        }

    async def _cancel_progress(self, params: ProgressCancelParams) -> None:
        self._board.cancel(params.token)

    def _noted(self, method: AnyMethod) -> AnyMethod:
        """Returns the method, which also notes the session that its params name or that it has opened."""

        async def handle(workspace: Workspace, params: Any) -> Any:
            result = await method.handler(workspace, params)
            opened = getattr(result, "session", result)
            self._own.named(getattr(opened, "session_id", None) or getattr(params, "session_id", None) or "")
            return result

        return replace(method, handler=handle)

    def _title_of(self, session_id: str) -> str:
        try:
            return self.workspace().ports.store.info(session_id).title
        except UllageError:
            return ""

    def _cancel_compaction(self, session_id: str) -> None:
        self._hooks.cancel_compaction(self.workspace(), session_id)

    def _keep_private(self, settings: Settings) -> None:
        client = self._announcer.client
        self._hooks.keep_private(client.name, client.folders, settings)

    def _configure(self, settings: Settings) -> None:
        if self._opened is not None:
            if settings.store != self._store:
                self._store = settings.store
                self._announcer.warn("The setting store is read when Ullage starts: restart it to change the store.")
            self._hooks.configure(self._opened, settings)


async def _ignore(_: Any) -> None:
    pass
