"""The Language Server Protocol's handshake: pygls answers `initialize`; `read_client` reads the client's abilities.

Only public names of pygls are used: a message of lsprotocol's types goes in by `handle_message`, and the answer comes
out at the writer. pygls serves `initialize` alone, because it keeps a future for every notification and never drops it,
and because Ullage doesn't need the text of documents.
"""

import asyncio
import logging
from typing import Any, cast

import msgspec
from cattrs import Converter
from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer

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
