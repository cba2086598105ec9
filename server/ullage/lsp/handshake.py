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
    """What a client can do, read once from its `initialize`.

    - `takes_updates`: it understands `ullage/session/update`. A plain client gets messages and progress bars instead.
    - `shows_progress`: the server may create progress bars.
    - `answers_configuration`: the server may ask for settings.
    - `registers_configuration`: the server may register for changes of settings.
    - `asks_permission`: it asks the user before a tool is used.
    - `options`: its `initializationOptions`.
    """

    takes_updates: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    asks_permission: bool = False
    options: Any = None


def read_client(params: types.InitializeParams) -> Client:
    """Returns the client that sent these params. A capability that is not mentioned is missing."""
    window = params.capabilities.window
    workspace = params.capabilities.workspace
    change = workspace.did_change_configuration if workspace else None
    options: Any = params.initialization_options
    return Client(
        takes_updates=_has(params.capabilities.experimental, "ullage") or _has(options, "client"),
        shows_progress=bool(window and window.work_done_progress),
        answers_configuration=bool(workspace and workspace.configuration),
        registers_configuration=bool(change and change.dynamic_registration),
        asks_permission=_has(_of(params.capabilities.experimental, "ullage"), "permissions")
        or _has(_of(options, "client"), "permissions"),
        options=options,
    )


class Pygls:
    """A pygls server without a transport. It takes one message and returns its answer."""

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
        """Returns pygls' result for the client, as plain JSON values.

        Raises `RuntimeError` with pygls' error if it fails.
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
        """Takes what pygls sends.

        The answer is returned by `initialize`; other messages are about failures and are logged.
        """
        message: dict[str, Any] = msgspec.json.decode(data)
        if "method" in message or self._answer is None or self._answer.done():
            log.error("pygls sent %s", message)
        else:
            self._answer.set_result(message)

    def close(self) -> None:
        """Does nothing: there is nothing to close. pygls' interface for writers wants the method."""


def _has(value: Any, key: str) -> bool:
    return bool(_of(value, key))


def _of(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
