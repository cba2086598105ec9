"""Splits a byte stream into messages of one line each, without I/O."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ullage.jsonrpc.rpc_errors import BadFrame

# Bytes in the longest line that is accepted, 256 MiB: far above any session, far below the memory of a machine.
MAX_LINE = 1 << 28
_BLANK = b" \t\r\n"


class LineTooLong(Struct, frozen=True):
    """Given by `LineSplitter` in place of a line that was dropped because it is longer than `limit` bytes."""

    limit: int


class LineSplitter:
    """Divides a byte stream into lines, whatever the sizes of the pieces that come in.

    A line includes its line break, so that it can be forwarded unchanged. A line that has more than `max_line` bytes,
    the line break included, is reported as soon as it passes the limit, and skipped up to its end.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Returns the lines that `data` completes, and a `LineTooLong` for each line that passes the limit, in
        order."""
        return [item for piece in _pieces(data) for item in self._take(piece)]

    def end(self) -> bytes:
        """Ends the stream. Returns the last line if it has no line break, otherwise empty bytes."""
        rest = b"".join(self._pieces)
        self._begin()
        return rest

    def _take(self, piece: bytes) -> Iterator[bytes | LineTooLong]:
        self._length += len(piece)
        if self._length > self._max_line and not self._skipping:
            self._skipping = True
            self._pieces.clear()
            yield LineTooLong(self._max_line)
        if not self._skipping:
            self._pieces.append(piece)
        if piece.endswith(b"\n"):
            if not self._skipping:
                yield b"".join(self._pieces)
            self._begin()

    def _begin(self) -> None:
        self._pieces.clear()
        self._length = 0
        self._skipping = False


class LineFraming:
    """Divides a byte stream into message bodies, one per line. Empty lines are skipped, and the last line needs no line
    break. `max_line` is the length of the longest line that is accepted, in bytes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._splitter = LineSplitter(max_line)

    def feed(self, data: bytes) -> Iterable[bytes | BadFrame]:
        """Yields the bodies that `data` completes, and a `BadFrame` for each line that is too long."""
        for item in self._splitter.feed(data):
            if isinstance(item, LineTooLong):
                yield BadFrame(reason=f"A message is longer than {item.limit} bytes.")
            elif body := item.strip(_BLANK):
                yield body

    def end(self) -> Iterable[bytes | BadFrame]:
        """Returns the last body, if the stream ended without a line break after it."""
        body = self._splitter.end().strip(_BLANK)
        return (body,) if body else ()

    def frame(self, body: bytes) -> bytes:
        """Returns a body as a line."""
        return body + b"\n"


def _pieces(data: bytes) -> Iterator[bytes]:
    r"""Yields the data divided after each line feed (`\n`). `splitlines` would also divide it at carriage returns."""
    start = 0
    while end := data.find(b"\n", start) + 1:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]
