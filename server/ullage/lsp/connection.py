"""A Language Server client's connection: the request engine over framed messages, with lsprotocol's types, and progress
bars (`$/progress`) with the client's token or with one that the server creates.

lsprotocol's values are attrs classes with snake-case fields; its converter makes JSON of them. Our own values are
msgspec structs and need no converter.
"""

import asyncio
import logging
import os
import re
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from cattrs import BaseValidationError, transform_error
from lsprotocol import types
from msgspec import Raw, Struct
from pygls.protocol import default_converter

from ullage.api.engine import Handler, ReadParams, RequestEngine
from ullage.jsonrpc.envelope import INVALID_PARAMS, MAX_BODY, BadReply, FrameParser, RpcError, read_params
from ullage.jsonrpc.peer import Dialect
from ullage.limits import OWN_FILE, read_plain

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
        return read_plain(f"/proc/{pid}/stat", OWN_FILE).rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return False


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
        """Shows a line of text in the bar. `percentage` is the finished share of the work, 0 to 100, or None if
        unknown."""
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
        """Calls the `cancel` function of the bar with this token, because the user pressed Cancel. The token of a bar
        that is no longer shown is ignored."""
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
