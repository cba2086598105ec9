"""A Language Server client's connection: the request engine over framed messages, with lsprotocol's types, and progress
bars (`$/progress`) with the client's token or with one that the server creates.

lsprotocol's values are attrs classes with snake-case fields; its converter makes JSON of them. Our own values are
msgspec structs and need no converter.

Splits bytes into messages by their `Content-Length` headers, without I/O.

A broken header is reported once, and the stream is skipped up to the next `Content-Length:`. A JSON string can't
contain a raw line break, so no body can be mistaken for a header.
"""

import asyncio
import logging
import os
import re
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from cattrs import BaseValidationError, transform_error
from lsprotocol import types
from msgspec import Raw, Struct
from pygls.protocol import default_converter

from ullage.api.engine import Handler, ReadParams, RequestEngine
from ullage.jsonrpc.envelope import INVALID_PARAMS, BadFrame, BadReply, RpcError, read_params
from ullage.jsonrpc.peer import Dialect

LENGTH = b"content-length:"
# The specification demands CR LF. Bare LF is accepted too, because the client would otherwise wait for an answer for
# ever.
HEADER_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_END = 4
# Bytes. Real headers are under 100 bytes; a longer text without an end is not a header.
MAX_HEADER = 8192
# Bytes. A body of this size or more is handed on in the buffer that it came in, without a copy.
_LARGE = 1 << 20
# Bytes in the largest body that is accepted, 256 MiB: far above any session, far below the memory of a machine.
MAX_BODY = 1 << 28


class _State(Enum):
    HEADER = auto()
    BODY = auto()
    SEEKING = auto()


class FrameParser:
    """Splits a byte stream into message bodies, wherever the stream is divided into reads. `max_body` and `max_header`
    are in bytes; a larger body or header is reported as a `BadFrame`."""

    def __init__(self, max_body: int = MAX_BODY, max_header: int = MAX_HEADER) -> None:
        self._max_body = max_body
        self._max_header = max_header
        self._buffer = bytearray()
        self._state = _State.HEADER
        self._wanted = 0
        self._searched = 0

    def feed(self, data: bytes) -> list[bytes | bytearray | BadFrame]:
        """Takes the next bytes of the stream. Returns the message bodies that they complete, and a `BadFrame` for each
        broken header, in order."""
        self._buffer += data
        found: list[bytes | bytearray | BadFrame] = []
        while (item := self._next()) is not None:
            found.append(item)
        return found

    def end(self) -> list[BadFrame]:
        """Ends the stream. Returns one `BadFrame` if the stream ended inside a message, otherwise an empty list."""
        torn = self._state is _State.BODY or (self._state is _State.HEADER and bool(self._buffer.strip()))
        return [BadFrame(reason="The stream ended inside a message.")] if torn else []

    def frame(self, body: bytes) -> bytes:
        """Returns the body with its `Content-Length` header before it, ready to send."""
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def _next(self) -> bytes | bytearray | BadFrame | None:
        if self._state is _State.SEEKING and not self._find_header():
            return None
        if self._state is _State.HEADER:
            refusal = self._read_header()
            if refusal is not None:
                return refusal
        if self._state is _State.BODY and len(self._buffer) >= self._wanted:
            return self._take_body()
        return None

    def _take_body(self) -> bytes | bytearray:
        # Copying tens of megabytes would hold up all other requests for a tenth of a second.
        if self._wanted >= _LARGE:
            body, self._buffer = self._buffer, self._buffer[self._wanted :]
            del body[self._wanted :]
            self._begin_after(0)
            return body
        with memoryview(self._buffer) as view:
            small = bytes(view[: self._wanted])
        self._begin_after(self._wanted)
        return small

    def _begin_after(self, count: int) -> None:
        del self._buffer[:count]
        self._state = _State.HEADER
        self._searched = 0

    def _find_header(self) -> bool:
        at = self._buffer.lower().find(LENGTH)
        if at < 0:
            # A header's name may be divided between two reads: keep what could be its beginning.
            del self._buffer[: max(0, len(self._buffer) - len(LENGTH) + 1)]
            return False
        self._begin_after(at)
        return True

    def _read_header(self) -> BadFrame | None:
        end = HEADER_END.search(self._buffer, max(0, self._searched - _LONGEST_END + 1))
        self._searched = len(self._buffer)
        # If no end is found, the last bytes may be the beginning of one.
        length = end.start() if end else len(self._buffer) - _LONGEST_END + 1
        if length > self._max_header:
            return self._seek_header(1, f"A message header has no end within {self._max_header} bytes.")
        if end is None:
            return None
        wanted = _content_length(bytes(self._buffer[: end.start()]))
        refusal = self._check(wanted)
        if refusal is not None:
            return self._seek_header(end.end(), refusal)
        del self._buffer[: end.end()]
        self._wanted = int(wanted or b"0")
        self._state = _State.BODY
        return None

    def _check(self, length: bytes | None) -> str | None:
        if length is None:
            return "A message header has no Content-Length."
        if not length.isdigit():
            return "A message's Content-Length is not a number of bytes."
        if len(length) > len(str(self._max_body)) or int(length) > self._max_body:
            return f"A message is longer than {self._max_body} bytes."
        return None

    def _seek_header(self, count: int, reason: str) -> BadFrame:
        self._begin_after(count)
        self._state = _State.SEEKING
        return BadFrame(reason=reason)


def _content_length(header: bytes) -> bytes | None:
    for line in header.splitlines():
        if line.lower().startswith(LENGTH):
            return line[len(LENGTH) :].strip()
    return None


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
