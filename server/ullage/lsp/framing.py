"""Splits bytes into messages by their `Content-Length` headers, without I/O.

A broken header is reported once, and the stream is skipped up to the next `Content-Length:`. A JSON string can't
contain a raw line break, so no body can be mistaken for a header.
"""

import re
from enum import Enum, auto

from ullage.jsonrpc.rpc_errors import BadFrame

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
