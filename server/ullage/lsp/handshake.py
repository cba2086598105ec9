"""The Language Server Protocol's handshake: `initialize` is answered by pygls, and says what the client can do.

pygls is used by its public names alone: a message of lsprotocol's types goes in by `handle_message`, and what pygls
makes of it comes out at the writer. It serves nothing but `initialize`: for notifications it keeps a future each, for
ever, and a document's text is of no use to us.
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

    `takes_updates`: it understands `ullage/session/update`; a plain client gets messages and progress instead.
    `shows_progress`: the server may create progress tokens. `answers_configuration`: settings may be asked for.
    `registers_configuration`: it wants to be told that changes of settings matter. `options` are its
    `initializationOptions`. `asks_permission`: it asks the user before a tool is used.
    """

    takes_updates: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    asks_permission: bool = False
    options: Any = None


def read_client(params: types.InitializeParams) -> Client:
    """The client that sent these params. A capability that is not mentioned is missing."""
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
    """A pygls server without a transport. It takes one message at a time and gives what it would send."""

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
        """The result for the client, as plain JSON values. Raises `RuntimeError` with pygls' words if it fails."""
        self._answer = asyncio.get_running_loop().create_future()
        # pygls' type for a message has fields that may be set; lsprotocol's `method` is a constant.
        request: Any = types.InitializeRequest(id=0, params=params)
        self._server.protocol.handle_message(request)
        answer = await self._answer
        if "error" in answer:
            raise RuntimeError(f"pygls did not initialize: {answer['error']}")
        return answer["result"]

    def write(self, data: bytes) -> None:
        """Takes what pygls sends: the answer, or messages of its own about a failure, which go to the log."""
        message: dict[str, Any] = msgspec.json.decode(data)
        if "method" in message or self._answer is None or self._answer.done():
            log.error("pygls sent %s", message)
        else:
            self._answer.set_result(message)

    def close(self) -> None:
        """There is nothing to close."""


def _has(value: Any, key: str) -> bool:
    return bool(_of(value, key))


def _of(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
