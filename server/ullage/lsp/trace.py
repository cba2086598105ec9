"""Writes every message of a connection to a file, one JSON object per line, to debug a client or the server.

The file contains the whole session, so it is created readable by its owner alone.
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
from ullage.system.stdio import Connection, Writer

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
        """A future whose result is the exit status once the client is done."""
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
        """Called when the client's input has ended. Ends the connection."""
        self._inner.end()

    def stop(self, status: int) -> None:
        """Ends the connection with this exit status. Later calls are ignored."""
        self._inner.stop(status)

    async def drain(self, seconds: float) -> None:
        """Waits at most `seconds` for running requests to end, then cancels them and all other work."""
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
