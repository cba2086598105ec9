"""The Language Server: Ullage's methods, the commands and the settings on one connection.

Writes every message of a connection to a file, one JSON object per line, to debug a client or the server.

The file contains the whole session, so it is created readable by its owner alone.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from lsprotocol import types
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ullage.api.client_requests import ClientModels, ClientPermissions
from ullage.api.engine import Reply
from ullage.api.protocol import AnyMethod
from ullage.jsonrpc.envelope import MAX_BODY, BadFrame, FrameParser
from ullage.lsp.announce import UPDATE_METHOD, Announcer, Command, CommandRunner, ExecuteCommandParams, OwnSession
from ullage.lsp.connection import (
    Configuration,
    DidChangeConfigurationParams,
    LspConnection,
    ProgressBoard,
    Pygls,
    read_client,
)
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.json_values import encode_json
from ullage.model.settings import Settings
from ullage.service.conversation.workspace import Workspace
from ullage.system.desktop import shows
from ullage.system.stdio import Connection, Writer

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
            opened = self._opened = self._hooks.open(self._announcer, settings)
            self._announcer.on_desktop = lambda: shows(opened.settings.notices)
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
        # No daemon: Python ends one in the midst of native code, which may abort the program. It takes half a second.
        threading.Thread(target=self._hooks.warm_up, name="warm-up").start()
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


_SET_TRACE = "$/setTrace"
_HEADER_END = b"\r\n\r\n"


class Traced(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"sender": "from"}):
    """One line of a trace: a message, its sender and its time.

    `timestamp` is Unix milliseconds. `message` is the message as a JSON value; at the trace level `messages` it has
    only the message's id and method. For bytes that are not JSON, `text` is set in place of `message`: to the bytes as
    text, or to the reason why no message begins there.
    """

    timestamp: int
    sender: Literal["client", "server"]
    message: Any = UNSET
    text: str = ""


class _Outline(Struct, frozen=True, omit_defaults=True):
    """The fields of a message that are written at the trace level `messages`."""

    id: Any = UNSET
    method: str | UnsetType = UNSET


class _SetTrace(Struct, frozen=True):
    value: str = ""


class _SetTraceMessage(Struct, frozen=True):
    method: str = ""
    params: Raw = Raw(b"{}")


class Trace:
    """Writes messages to a file, which it owns. The trace level is `verbose` until the client sets `messages` or `off`
    by `$/setTrace`. `now` returns Unix milliseconds."""

    def __init__(self, file: BinaryIO, now: Callable[[], int]) -> None:
        self._file = file
        self._now = now
        self._level = "verbose"
        self._frames = FrameParser()

    def receive(self, data: bytes) -> None:
        """Takes bytes from the client, however they are divided, and writes the messages that they complete to the
        trace. A message `$/setTrace` changes the trace level for the messages after it."""
        for item in self._frames.feed(data):
            if isinstance(item, BadFrame):
                self._write(Traced(timestamp=self._now(), sender="client", text=item.reason))
            else:
                self._take("client", item)
                self._level = _requested_level(item) or self._level

    def send(self, data: bytes) -> None:
        """Takes one message to the client, with its header, and writes its body to the trace."""
        self._take("server", data.partition(_HEADER_END)[2])

    def close(self) -> None:
        """Closes the file. Messages after that are not written."""
        self._file.close()

    def _take(self, sender: Literal["client", "server"], body: bytes | bytearray) -> None:
        if self._level == "off":
            return
        try:
            message = msgspec.json.decode(body, type=_Outline if self._level == "messages" else Any)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._write(Traced(timestamp=self._now(), sender=sender, text=body.decode(errors="replace")))
        else:
            self._write(Traced(timestamp=self._now(), sender=sender, message=message))

    def _write(self, line: Traced) -> None:
        if not self._file.closed:
            self._file.write(encode_json(line) + b"\n")


class TracedConnection:
    """A connection that writes its messages, in both directions, to a trace, and otherwise does what `inner` does."""

    def __init__(self, inner: Connection, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def stopped(self) -> "Future[int]":
        return self._inner.stopped

    def connect(self, writer: Writer) -> None:
        """Sets the writer that takes messages to the client. Each message is written to the trace, too."""
        self._inner.connect(_TracedWriter(writer, self._trace))

    def feed(self, data: bytes) -> None:
        """Takes the next bytes from the client, however they are divided: writes them to the trace and hands them to
        the connection."""
        self._trace.receive(data)
        self._inner.feed(data)

    def end(self) -> None:
        self._inner.end()

    def stop(self, status: int) -> None:
        self._inner.stop(status)

    async def drain(self, seconds: float) -> None:
        await self._inner.drain(seconds)


class _TracedWriter:
    def __init__(self, inner: Writer, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def has_room(self) -> bool:
        return self._inner.has_room

    def write(self, data: bytes) -> None:
        self._trace.send(data)
        self._inner.write(data)

    async def drain(self) -> None:
        await self._inner.drain()


def open_trace(path: Path, now: Callable[[], int]) -> Trace:
    """Opens a file, to which the trace is appended, and returns the trace. `now` returns Unix milliseconds.

    Creates the file, readable by its owner alone, and its folder. Raises `InvalidRequest` if that fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise InvalidRequest(f"cannot write the trace {path}: {error.strerror}; choose another file") from error
    # Unbuffered, so that everything is in the file even if the server is killed.
    return Trace(os.fdopen(descriptor, "ab", buffering=0), now)


def _requested_level(body: bytes | bytearray) -> str | None:
    """Returns the trace level that the message sets if it is a `$/setTrace`, or None for every other message."""
    if _SET_TRACE.encode() not in body:
        return None
    try:
        message = msgspec.json.decode(body, type=_SetTraceMessage)
        return msgspec.json.decode(message.params, type=_SetTrace).value if message.method == _SET_TRACE else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
