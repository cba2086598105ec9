"""The lines of a stream: cut without decoding them, read as far as needed, and written between the proxy's own.

Of a JSON-RPC line the envelope is read first, the content only if needed. A line is encoded again only to change it.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ullage.jsonrpc.envelope import ErrorResponse, Notification, Request, RequestId, Response
from ullage.model.json_values import as_object, decode_json, encode_json
from ullage.system.stdio import Sink

# Bytes in the longest line that is read, 32 MiB: far above any message of a session's replay. A longer line is
# forwarded in pieces and unread, so that the proxy's memory stays bounded.
LONGEST = 1 << 25
# How a message begins, which is a JSON object, or several in an array.
_MESSAGE = (b"{", b"[")
_NOTHING = Raw(b"")
_raw_fields = msgspec.json.Decoder(dict[str, Raw])
# Seconds that `close` waits for a reader that takes nothing.
PATIENCE = 2.0


class Piece(Struct, frozen=True):
    """Bytes of a stream to forward: a line, or a piece of a long line.

    `whole` is true if the bytes are one whole line, which may be read. `ends` is true if they are the end of a line.
    `is_text` is true if the line does not begin as a message does.
    """

    data: bytes
    whole: bool = True
    ends: bool = True
    is_text: bool = False


class LineCutter:
    """Cuts a byte stream after its line feeds, wherever the stream is divided into reads. A line longer than `longest`
    bytes is cut into pieces. So is one that is no message: a prompt on a terminal waits for its answer first."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._held: list[bytes] = []
        self._length = 0
        self._streaming = False
        # Whether the line in progress has a character that is no white space, and whether that begins no message.
        self._begun, self._is_text = False, False

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Takes the next bytes of the stream. Yields the lines that they complete, each with its line feed, and pieces
        of a line that is too long."""
        start = 0
        while end := data.find(b"\n", start) + 1:
            yield self._line(data[start:end])
            start = end
        if start < len(data):
            yield from self._part(data[start:])

    def end(self) -> Iterator[Piece]:
        """Ends the stream. Yields the rest of the last line if the stream ends without a line feed."""
        if self._held or self._streaming:
            yield Piece(self._take(), whole=not self._streaming, is_text=self._is_text)

    def _line(self, last: bytes) -> Piece:
        self._look_at(last)
        whole, is_text = not self._streaming, self._is_text
        self._streaming = self._begun = self._is_text = False
        self._held.append(last)
        return Piece(self._take(), whole=whole, is_text=is_text)

    def _look_at(self, data: bytes) -> None:
        if not self._begun and (said := data.lstrip()):
            self._begun, self._is_text = True, not said.startswith(_MESSAGE)

    def _part(self, data: bytes) -> Iterator[Piece]:
        self._held.append(data)
        self._length += len(data)
        self._look_at(data)
        if self._streaming or self._is_text or self._length > self._longest:
            self._streaming = True
            yield Piece(self._take(), whole=False, ends=False, is_text=self._is_text)

    def _take(self) -> bytes:
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held.clear()
        self._length = 0
        return data


class Frame(Struct, frozen=True):
    """The envelope of a JSON-RPC message. `params`, `result` and `error` are undecoded JSON, empty if absent."""

    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING

    @property
    def known_id(self) -> RequestId | None:
        """The id, None for null and for a message without one."""
        return None if self.id is UNSET else self.id

    @property
    def says_something(self) -> bool:
        """Whether the object is a request, a notification or an answer: it has one of the fields of these."""
        named = self.method is not UNSET or self.id is not UNSET
        return named or bool(memoryview(self.result) or memoryview(self.error))


_frame = msgspec.json.Decoder(Frame)


def peek(line: bytes) -> Frame | None:
    """Returns the JSON-RPC envelope of a line, or None if the line isn't a JSON-RPC message. Such a line is forwarded
    unread."""
    try:
        return _frame.decode(line)
    except (ValueError, RecursionError):
        return None


def fields(raw: Raw) -> dict[str, Any]:
    """Returns undecoded JSON as a dict. Returns an empty dict if it is not an object, or is nested too deeply."""
    try:
        return as_object(decode_json(bytes(raw), dict))
    except (ValueError, RecursionError):
        return {}


def with_params(line: bytes, changes: dict[str, Any]) -> bytes:
    """Returns the line, which must have an object as params, with the params in `changes` replaced. All other values
    keep their bytes. The result ends with a line feed."""
    whole = _raw_fields.decode(line)
    params = _raw_fields.decode(whole["params"])
    params |= {name: Raw(encode_json(value)) for name, value in changes.items()}
    whole["params"] = Raw(msgspec.json.encode(params))
    return msgspec.json.encode(whole) + b"\n"


def with_field(line: bytes, name: str, value: RequestId | None) -> bytes:
    """Returns the line, which must be an object, with this id or method. All other values keep their bytes. The result
    ends with a line feed."""
    return msgspec.json.encode(_raw_fields.decode(line) | {name: Raw(encode_json(value))}) + b"\n"


def unwrapped(line: bytes) -> bytes:
    """Returns the message in the params of a line, which has its method and its params there, with the id of the line.
    Both keep their bytes."""
    whole = _raw_fields.decode(line)
    inner = _raw_fields.decode(whole["params"])
    named = {name: inner[name] for name in ("method", "params") if name in inner}
    return msgspec.json.encode({**{name: whole[name] for name in ("jsonrpc", "id") if name in whole}, **named}) + b"\n"


def with_result(line: bytes, changes: dict[str, Raw]) -> bytes:
    """Returns the line, which must have an object as result, with the fields in `changes` replaced. All other values
    keep their bytes. The line ends with a line feed."""
    whole = _raw_fields.decode(line)
    whole["result"] = Raw(msgspec.json.encode(_raw_fields.decode(whole["result"]) | changes))
    return msgspec.json.encode(whole) + b"\n"


def line(message: Request | Notification | Response | ErrorResponse) -> bytes:
    """Returns a message of the proxy's own as a line of JSON with a line feed."""
    return encode_json(message) + b"\n"


class Outlet:
    """Writes to the client or to the agent, and never puts one line into another.

    A line that comes while a long line is forwarded in pieces waits for the end of the long line. A line that was cut
    off, because its writer has ended, is given a line feed before the next one.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._torn = False
        self._cut_off = False
        self._waiting: list[bytes] = []

    def pass_on(self, piece: Piece) -> None:
        """Writes a forwarded piece unchanged, or after the long line that is being forwarded if it is none of its
        pieces. If it ends a line, the lines that waited for that are written after it."""
        if piece.whole:
            self.insert(piece.data)
            return
        self._write(piece.data, ends=piece.ends)
        self._torn = not piece.ends
        if not self._torn and self._waiting:
            waiting, self._waiting = self._waiting, []
            self._write(b"".join(waiting))

    def insert(self, data: bytes) -> None:
        """Writes a whole line: at once, or after the long line that is being forwarded in pieces."""
        if self._torn:
            self._waiting.append(data)
        else:
            self._write(data)

    # As an engine writes that answers the client itself.
    write = insert

    def _write(self, data: bytes, *, ends: bool = True) -> None:
        self._sink.write(b"\n" + data if self._cut_off else data)
        self._cut_off = ends and not data.endswith(b"\n")

    @property
    def has_room(self) -> bool:
        return self._sink.has_room

    async def drain(self) -> None:
        """Waits until there is room to write more. Called after each forwarded piece, so that the proxy reads no faster
        than the other side."""
        await self._sink.drain()

    async def close(self) -> None:
        """Waits until everything is written, or until the reader has taken nothing for 2 seconds. Then closes the
        stream.

        Nothing may be written afterwards.
        """
        await self._sink.flush(PATIENCE)
        self._sink.close()
