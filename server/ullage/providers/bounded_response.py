"""Bounds a provider's answers: a server that sends without end, or sends little that unpacks to much, is cut off.

The SDKs hold an event until its end, and a whole answer that is no stream. Without a bound a server could fill the
memory of the machine; a timeout does not help, because it counts silence only.
"""

import zlib
from collections.abc import AsyncIterator, Generator

import httpx2

from ullage.model.errors import AnswerBroken

# Bytes of an answer, unpacked. The longest answers of today's models have 128,000 tokens; with an event of 300 bytes
# for each they take 40 MB.
_MOST_BYTES = 256 << 20
# Bytes and lines of one event. The last event of an answer repeats all of it in some protocols. The SDKs copy what they
# have of an event at each of its lines, so that many lines would take them minutes. What is no stream may be JSON on
# indented lines.
_MOST_EVENT_BYTES = 16 << 20
_MOST_EVENT_LINES = 1_000
_MOST_JSON_LINES = 20_000
# Events of an answer. Twice as many as the longest answers have tokens; each costs time, also an empty one.
_MOST_EVENTS = 300_000
# Bytes that are unpacked at a time.
_PIECE = 1 << 16
# What `zlib` unpacks; nothing else is asked for.
ACCEPTED = {"Accept-Encoding": "gzip, deflate"}
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


async def bound_response(response: httpx2.Response) -> None:
    """Replaces the response's stream by one that unpacks it, and that raises `AnswerBroken` where it exceeds a bound.
    An event hook of the HTTP client, which calls it before it reads the body. Raises `AnswerBroken` for a response that
    is packed in a way that was not asked for."""
    packed = response.headers.pop("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", "x-gzip", "deflate"):
        raise AnswerBroken(f"the answer is compressed by {packed[:40]!r}, which was not asked for")
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    lines = _MOST_EVENT_LINES if is_stream else _MOST_JSON_LINES
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream, packed != "identity", lines)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, is_packed: bool, most_lines: int) -> None:
        self._stream = stream
        self._unpack = zlib.decompressobj(_ZLIB_OR_GZIP) if is_packed else None
        self._most_lines = most_lines
        self._bytes = self._events = self._event_bytes = self._event_lines = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            for piece in self._unpacked(data):
                # An event ends with an empty line; the rest of the last piece begins the next one.
                self._bytes += len(piece)
                self._events += max(piece.count(b"\n\n"), piece.count(b"\r\n\r\n"), piece.count(b"\r\r"))
                end = max(piece.rfind(b"\n\n"), piece.rfind(b"\r\n\r\n"), piece.rfind(b"\r\r"))
                if end >= 0:
                    self._event_bytes = self._event_lines = 0
                self._event_bytes += len(piece) - max(0, end)
                self._event_lines += max(piece.count(b"\n", max(0, end)), piece.count(b"\r", max(0, end)))
                is_too_long = self._bytes > _MOST_BYTES or self._events > _MOST_EVENTS
                if is_too_long or self._event_bytes > _MOST_EVENT_BYTES or self._event_lines > self._most_lines:
                    raise AnswerBroken("the answer does not end: it was cut off")
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _unpacked(self, data: bytes) -> Generator[bytes]:
        if self._unpack is None:
            yield data
            return
        while True:
            try:
                piece = self._unpack.decompress(data, _PIECE)
            except zlib.error as error:
                raise AnswerBroken(f"the answer cannot be unpacked: {error}") from error
            yield piece
            data = self._unpack.unconsumed_tail
            if not data and len(piece) < _PIECE:
                return
