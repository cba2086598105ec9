"""A Language Server client's connection: the request engine over framed messages, with lsprotocol's types.

lsprotocol's values are attrs classes with snake-case fields; its converter makes JSON of them. Our own values are
msgspec structs and need no converter.
"""

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from cattrs import BaseValidationError, transform_error
from lsprotocol import types
from msgspec import Raw, Struct
from pygls.protocol import default_converter

from ullage.api.engine import Handler, ReadParams, RequestEngine
from ullage.jsonrpc.envelope import read_params
from ullage.jsonrpc.peer import Dialect
from ullage.jsonrpc.rpc_errors import INVALID_PARAMS, RpcError
from ullage.lsp.framing import MAX_BODY, FrameParser

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
        if os.name == "posix" and _is_alive(pid):
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
        while _is_alive(pid):
            await asyncio.sleep(WATCH)
        log.warning("The client's process %d is gone.", pid)
        self.stop(0)


def _describe(error: BaseValidationError) -> str:
    """Returns a sentence about the first fault in the params, with the path of its field in camel case, as it was
    sent."""
    fault, _, path = transform_error(error)[0].partition(" @ ")
    field = re.sub(r"_(\w)", lambda match: match[1].upper(), path.removeprefix("$."))
    return f"{fault} - at `{field}`"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Returns whether a process has ended and its parent has not asked how. Only Linux says so; elsewhere False."""
    try:
        # The state is the first field after the program's name, which is in parentheses and may have some itself.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return False
