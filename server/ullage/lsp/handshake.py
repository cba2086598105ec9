"""The Language Server Protocol's handshake: pygls answers `initialize`; `read_client` reads the client's abilities.

Only public names of pygls are used: a message of lsprotocol's types goes in by `handle_message`, and the answer comes
out at the writer. pygls serves `initialize` alone, because it keeps a future for every notification and never drops it,
and because Ullage doesn't need the text of documents.

Settings come from the client: `initializationOptions`, `workspace/didChangeConfiguration`, `workspace/configuration`.
Invalid settings never stop the server. The settings in force are kept, and one message says what to change.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import msgspec
from cattrs import Converter
from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer

from ullage.api.session_methods import read_settings
from ullage.jsonrpc.envelope import BadReply
from ullage.lsp.connection import LspConnection
from ullage.model.errors import InvalidRequest, StoreError
from ullage.model.settings import Settings

log = logging.getLogger(__name__)


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
    """Returns what the client that sent these params can do. A capability that is not mentioned is false, except
    `trusts_folder`."""
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
        self._warned = ""
        self._client = Client()
        self.settings = Settings()

    def start(self, client: Client) -> None:
        """Applies the settings in the client's `initializationOptions`. Called after `initialize` is answered."""
        self._client = client
        self._take(client.options)

    async def subscribe(self, _: Any) -> None:
        """Serves `initialized`: registers for changes of the settings, and requests the settings. Each happens only if
        the client declared that it can do that."""
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
        try:
            settings = read_settings(section)
        except InvalidRequest as error:
            # Editors send the same settings several times; one message is enough.
            if str(error) != self._warned:
                self._warned = str(error)
                self._warn(f"Ullage keeps its settings as they were: {error}")
            return
        self._warned = ""
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
