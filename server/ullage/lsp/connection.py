"""A Language Server client's connection: the request engine over framed messages, with lsprotocol's types, and progress
bars (`$/progress`) with the client's token or with one that the server creates.

lsprotocol's values are attrs classes with snake-case fields; its converter makes JSON of them. Our own values are
msgspec structs and need no converter.

The handshake: pygls answers `initialize`; `read_client` reads the client's abilities. Only public names of pygls are
used: a message of lsprotocol's types goes in by `handle_message`, and the answer comes out at the writer. pygls serves
`initialize` alone, because it keeps a future for every notification and never drops it, and because Ullage doesn't need
the text of documents.

Settings come from the client: `initializationOptions`, `workspace/didChangeConfiguration`, `workspace/configuration`.
Invalid settings never stop the server. The settings in force are kept, and one message says what to change.
"""

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import msgspec
from cattrs import BaseValidationError, Converter, transform_error
from lsprotocol import types
from msgspec import Raw, Struct
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from ullage.api.engine import Handler, ReadParams, RequestEngine
from ullage.api.session_methods import usable_settings
from ullage.host import this_system
from ullage.jsonrpc.envelope import INVALID_PARAMS, MAX_BODY, BadReply, Dialect, FrameParser, RpcError, read_params
from ullage.model.errors import StoreError
from ullage.model.settings import Settings

log = logging.getLogger(__name__)
R = TypeVar("R")
# Seconds between checks whether the client's process is alive. The end of input is the usual sign, and a faster one.
WATCH = 2.0
# The Language Server Protocol's error code for a request before `initialize`.
NOT_INITIALIZED = -32002
DIALECT = Dialect(
    cancel=types.CANCEL_REQUEST,
    cancel_key="id",
    opening=types.INITIALIZE,
    early=(NOT_INITIALIZED, "ServerNotInitialized"),
    closing=types.SHUTDOWN,
    exit=types.EXIT,
    null_ids=False,
)
_plain: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class LspConnection(RequestEngine):
    """The connection of one Language Server client. `converter` is pygls' converter between lsprotocol's types and
    plain JSON values. `max_body` is the size of the largest message that is accepted, in bytes."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        super().__init__(FrameParser(max_body), DIALECT, prefix="ullage-")
        self.converter = default_converter()
        self.add_route(types.SHUTDOWN, Any, self._shut_down)

    def add_standard_route(self, method: str, handler: Handler) -> None:
        """Serves a method of the Language Server Protocol itself. `handler` gets the params as lsprotocol's type.
        Params that don't fit the type are answered with the error "invalid params"."""
        self.add_reader(method, self._reader(method), handler)

    def notify(self, method: str, params: object) -> None:
        super().notify(method, self._wire(params))

    async def ask(self, method: str, params: object, result: type[R]) -> R:
        return await super().ask(method, self._wire(params), result)

    def watch_process(self, pid: int) -> None:
        """Stops the connection within 2 seconds after the client's process `pid` has ended, in case the end of input
        doesn't show it. A process that has ended counts as such even while its own parent does not ask how it ended.

        Does nothing on Windows, or if the process can't be seen, for example because it is in another container or on
        another machine.
        """
        if this_system.sees_processes and this_system.runs(pid):
            self.spawn(self._await_death(pid))

    def _wire(self, params: object) -> object:
        return params if isinstance(params, Struct) else self.converter.unstructure(params)

    def _reader(self, method: str) -> ReadParams:
        kind = types.METHOD_TO_TYPES[method][0]

        def read(params: Raw) -> Any:
            data: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": method}
            if bytes(params):
                data["params"] = read_params(method, params, _plain)
            try:
                return self.converter.structure(data, kind).params
            except BaseValidationError as error:
                raise RpcError(INVALID_PARAMS, f"{method}: {_describe(error)}.", "InvalidRequest") from None

        return read

    async def _shut_down(self, _: Any) -> None:
        self.cancel_others()

    async def _await_death(self, pid: int) -> None:
        while this_system.runs(pid):
            await asyncio.sleep(WATCH)
        log.warning("The client's process %d is gone.", pid)
        self.stop(0)


def _describe(error: BaseValidationError) -> str:
    """Returns a sentence about the first fault in the params, with its field's path as it was sent."""
    fault, _, path = transform_error(error)[0].partition(" @ ")
    field = re.sub(r"_(\w)", lambda match: match[1].upper(), path.removeprefix("$."))
    return f"{fault} - at `{field}`"


# Seconds. The work waits for the token, so a client that takes longer to create it gets no progress bar.
CREATE_TIMEOUT = 5.0


class Progress:
    """A progress bar in the client, named by `token`. If `token` is None, its methods send nothing."""

    def __init__(self, connection: LspConnection, token: types.ProgressToken | None) -> None:
        self._connection = connection
        self._token = token

    def begin(self, title: str, *, cancellable: bool) -> None:
        """Shows the bar with a title, and with a Cancel button if `cancellable` is true."""
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=cancellable))

    def report(self, message: str, percentage: int | None = None) -> None:
        """Shows a line of text in the bar. `percentage` is the finished share, 0 to 100, or None if unknown."""
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str | None = None) -> None:
        """Removes the bar. `message` is a last line for the user, or None."""
        self._send(types.WorkDoneProgressEnd(message=message))

    def _send(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._connection.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


class ProgressBoard:
    """All progress bars that are shown now, each with the function that cancels its work. `may_create` is true if the
    client lets the server create progress bars."""

    def __init__(self, connection: LspConnection) -> None:
        self._connection = connection
        self._cancels: dict[types.ProgressToken, Callable[[], object]] = {}
        self.may_create = False

    @asynccontextmanager
    async def show(
        self, title: str, cancel: Callable[[], object], token: types.ProgressToken | None = None
    ) -> AsyncGenerator[Progress]:
        """Shows a progress bar while the block runs, and yields it.

        The bar has the client's `token`, or without one a token that the server creates. If the client can't create it
        within 5 seconds, no bar is shown and the block runs all the same. If the user cancels the bar, `cancel` is
        called.
        """
        token = await self._create() if token is None else token
        progress = Progress(self._connection, token)
        if token is not None:
            self._cancels[token] = cancel
        progress.begin(title, cancellable=True)
        try:
            yield progress
        finally:
            if token is not None:
                self._cancels.pop(token, None)
            progress.end()

    def cancel(self, token: types.ProgressToken) -> None:
        """Calls the `cancel` function of the bar with this token, if it is still shown: the user pressed Cancel."""
        if (cancel := self._cancels.get(token)) is not None:
            cancel()

    async def _create(self) -> types.ProgressToken | None:
        if not self.may_create:
            return None
        token = uuid.uuid4().hex
        params = types.WorkDoneProgressCreateParams(token=token)
        request = self._connection.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, object)
        try:
            async with asyncio.timeout(CREATE_TIMEOUT):
                await request
        except (BadReply, TimeoutError):
            return None
        return token


class Client(Struct, frozen=True, kw_only=True):
    """What a client can do, read once from the params of `initialize`.

    - `takes_updates`: it understands `ullage/session/update`. A plain client gets messages and progress bars.
    - `shows_progress`: the server may create progress bars.
    - `answers_configuration`: the server may request settings.
    - `registers_configuration`: the server may register for changes of settings.
    - `asks_permission`: it asks the user before a tool is used.
    - `offers_models`: it can ask models for the server.
    - `trusts_folder`: the user trusts the open folder, or the client doesn't send whether the user does.
    - `options`: its `initializationOptions`.
    - `name`: its name, "" if it has none. `folders`: the addresses of the folders that are open in it.
    """

    takes_updates: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    asks_permission: bool = False
    offers_models: bool = False
    trusts_folder: bool = True
    options: Any = None
    name: str = ""
    folders: tuple[str, ...] = ()


def read_client(params: types.InitializeParams) -> Client:
    """Returns what the client can do. What is not mentioned is false, except `trusts_folder`."""
    window = params.capabilities.window
    workspace = params.capabilities.workspace
    change = workspace.did_change_configuration if workspace else None
    options: Any = params.initialization_options
    # The members of `ClientAbilities`. Clients may declare them in either place.
    abilities = (_of(params.capabilities.experimental, "ullage"), _of(options, "client"))
    return Client(
        takes_updates=any(map(_declares, abilities)),
        shows_progress=bool(window and window.work_done_progress),
        answers_configuration=bool(workspace and workspace.configuration),
        registers_configuration=bool(change and change.dynamic_registration),
        asks_permission=any(_declares(_of(declared, "permissions")) for declared in abilities),
        offers_models=any(_declares(_of(declared, "models")) for declared in abilities),
        # Anything but true means that the folder is not trusted: a mistake must not open what should be closed.
        trusts_folder=all(_of(declared, "folderTrusted") in (None, True) for declared in abilities),
        options=options,
        name=params.client_info.name if params.client_info else "",
        folders=tuple(folder.uri for folder in params.workspace_folders or ()) or _root(params),
    )


def _root(params: types.InitializeParams) -> tuple[str, ...]:
    root = params.root_uri or params.root_path
    return (root,) if root else ()


class Pygls:
    """A pygls server without a transport. It is given the params of `initialize` and computes the result."""

    def __init__(self, name: str, version: str, converter: Converter) -> None:
        self._server = LanguageServer(
            name,
            version,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            converter_factory=lambda: converter,
        )
        self._server.protocol.set_writer(self, include_headers=False)
        self._answer: asyncio.Future[dict[str, Any]] | None = None

    async def initialize(self, params: types.InitializeParams) -> dict[str, Any]:
        """Returns pygls' result of `initialize` as plain JSON values, among them the server's capabilities.

        Raises `RuntimeError` with pygls' error if pygls answers with one.
        """
        self._answer = asyncio.get_running_loop().create_future()
        # `Any`, because pygls' type for a message has a settable `method`, which is constant in lsprotocol's types.
        request: Any = types.InitializeRequest(id=0, params=params)
        self._server.protocol.handle_message(request)
        answer = await self._answer
        if "error" in answer:
            raise RuntimeError(f"pygls did not initialize: {answer['error']}")
        return answer["result"]

    def write(self, data: bytes) -> None:
        """Takes a message that pygls sends, in JSON.

        The answer to `initialize` becomes the result of `Pygls.initialize`. Every other message reports a failure in
        pygls and is logged.
        """
        message: dict[str, Any] = msgspec.json.decode(data)
        if "method" in message or self._answer is None or self._answer.done():
            log.error("pygls sent %s", message)
        else:
            self._answer.set_result(message)

    def close(self) -> None:
        """Does nothing. pygls requires the method of a writer, but there is nothing to close."""


def _declares(value: Any) -> bool:
    """Returns whether a client that sends this for a capability has it. `{}` says that it has, and that it chose
    nothing of what is optional, as everywhere in the Language Server Protocol."""
    return value is not None and value is not False


def _of(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


SECTION = "ullage"
# Keys of an editor's `ullage` section that only the editor's plugin reads.
CLIENT_KEYS = frozenset({"client", "server", "trace"})
PULL_TIMEOUT = 10.0


class DidChangeConfigurationParams(Struct, frozen=True):
    """The params of `workspace/didChangeConfiguration`, with the settings as plain JSON values."""

    settings: Any = None


class Configuration:
    """Keeps the settings in force, in `settings`. Calls `keep` with what the client sends, `apply` with each new value,
    and `warn` with a line of text if the client sends invalid settings, or if `keep` raises `StoreError`."""

    def __init__(
        self,
        connection: LspConnection,
        apply: Callable[[Settings], object],
        warn: Callable[[str], object],
        keep: Callable[[Settings], object],
    ) -> None:
        self._connection = connection
        self._apply = apply
        self._warn = warn
        self._keep = keep
        self._warned: tuple[str, ...] = ()
        self._client = Client()
        self.settings = Settings()

    def start(self, client: Client) -> None:
        """Applies the settings in the client's `initializationOptions`. Called after `initialize` is answered."""
        self._client = client
        self._take(client.options)

    async def subscribe(self, _: Any) -> None:
        """Serves `initialized`: registers for changes of the settings and requests them, if the client can do so."""
        if self._client.registers_configuration:
            self._connection.spawn(self._register())
        if self._client.answers_configuration:
            await self._pull()

    async def change(self, params: DidChangeConfigurationParams) -> None:
        """Serves `workspace/didChangeConfiguration`: applies the settings in the params.

        If the params contain no settings, requests them by `workspace/configuration` if the client answers that.
        """
        if _section(params.settings) is not None or not self._client.answers_configuration:
            self._take(params.settings)
        else:
            await self._pull()

    async def _pull(self) -> None:
        params = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
        request = self._connection.ask(types.WORKSPACE_CONFIGURATION, params, list[Any])
        try:
            async with asyncio.timeout(PULL_TIMEOUT):
                answer = await request
        except (BadReply, TimeoutError):
            return
        if answer:
            self._take(answer[0])

    async def _register(self) -> None:
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        registration = types.Registration(id=method, method=method)
        params = types.RegistrationParams(registrations=[registration])
        try:
            await self._connection.ask(types.CLIENT_REGISTER_CAPABILITY, params, object)
        except BadReply:
            return

    def _take(self, options: Any) -> None:
        section = _section(options)
        if section is None:
            return
        settings, faults = usable_settings(section, self.settings)
        # Editors send the same settings several times; one message is enough.
        if faults and faults != self._warned:
            self._warn(f"Ullage takes all settings but these, which stay as they were: {' '.join(faults)}")
        self._warned = faults
        try:
            self._keep(settings)
        except StoreError as error:
            self._warn(str(error))
        if settings != self.settings:
            self.settings = settings
            self._apply(settings)


def _section(options: Any) -> Any:
    """Returns the `ullage` section of the options, without the keys that only the editor's plugin reads
    (`CLIENT_KEYS`).

    The section may be in `{"settings": {"ullage": …}}` or `{"ullage": …}`, or be the options themselves. Returns None
    if the section is missing, null or an empty list, and returns a section that is not an object unchanged.
    """
    for key in ("settings", SECTION):
        if isinstance(options, dict) and key in options:
            options = cast("dict[str, Any]", options)[key]
    if options is None or options == []:
        return None
    if not isinstance(options, dict):
        return options
    return {key: value for key, value in cast("dict[str, Any]", options).items() if key not in CLIENT_KEYS}
