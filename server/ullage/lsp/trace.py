"""A trace: every message of a connection in a file, one JSON object a line, for whoever debugs a client or the server.

The file holds everything said in the session, so it is readable by its user alone.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ullage.jsonrpc.rpc_errors import BadFrame
from ullage.lsp.framing import FrameParser
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import encode_json
from ullage.system.stdio import Connection
from ullage.system.writer import Writer

_SET_TRACE = "$/setTrace"
_HEADER_END = b"\r\n\r\n"


class Traced(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"sender": "from"}):
    """One line of a trace. `timestamp` is Unix milliseconds; `text` stands for bytes that are no JSON-RPC message."""

    timestamp: int
    sender: Literal["client", "server"]
    message: Any = UNSET
    text: str = ""


class _Outline(Struct, frozen=True, omit_defaults=True):
    """The part of a message that the level `messages` keeps."""

    id: Any = UNSET
    method: str | UnsetType = UNSET


class _SetTrace(Struct, frozen=True):
    value: str = ""


class _SetTraceMessage(Struct, frozen=True):
    method: str = ""
    params: Raw = Raw(b"{}")


class Trace:
    """Writes messages to a file. Starts at the level `verbose`; the client's `$/setTrace` changes the level."""

    def __init__(self, file: BinaryIO, now: Callable[[], int]) -> None:
        self._file = file
        self._now = now
        self._level = "verbose"
        self._frames = FrameParser()

    def receive(self, data: bytes) -> None:
        """Takes bytes from the client, in any split."""
        for item in self._frames.feed(data):
            if isinstance(item, BadFrame):
                self._write(Traced(timestamp=self._now(), sender="client", text=item.reason))
            else:
                self._take("client", item)
                self._level = _requested_level(item) or self._level

    def send(self, data: bytes) -> None:
        """Takes one framed message to the client."""
        self._take("server", data.partition(_HEADER_END)[2])

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _take(self, sender: Literal["client", "server"], body: bytes) -> None:
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
    """A connection whose messages, both ways, are written to a trace."""

    def __init__(self, inner: Connection, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    @property
    def stopped(self) -> "Future[int]":
        """Holds the exit status once the client is done."""
        return self._inner.stopped

    def connect(self, writer: Writer) -> None:
        """Where messages go from now on."""
        self._inner.connect(_TracedWriter(writer, self._trace))

    def feed(self, data: bytes) -> None:
        """Takes bytes in any split."""
        self._trace.receive(data)
        self._inner.feed(data)

    def end(self) -> None:
        """The input is over."""
        self._inner.end()

    def stop(self, status: int) -> None:
        """Ends the connection; the first status counts."""
        self._inner.stop(status)

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for at most `seconds`, then cancels all work."""
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
    """A trace that appends to the file, which is made with its folder. Raises `InvalidRequest` if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise InvalidRequest(f"cannot write the trace {path}: {error.strerror}; choose another file") from error
    # Unbuffered: a server that is killed has written all it has sent.
    return Trace(os.fdopen(descriptor, "ab", buffering=0), now)


def _requested_level(body: bytes) -> str | None:
    """The level that a `$/setTrace` asks for; None for every other message."""
    if _SET_TRACE.encode() not in body:
        return None
    try:
        message = msgspec.json.decode(body, type=_SetTraceMessage)
        return msgspec.json.decode(message.params, type=_SetTrace).value if message.method == _SET_TRACE else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
