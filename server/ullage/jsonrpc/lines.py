"""Splits a byte stream into messages of one line each, without I/O."""

from collections.abc import Iterator

from msgspec import Struct

# Bytes in the longest line that is accepted, 256 MiB: far above any session, far below the memory of a machine.
MAX_LINE = 1 << 28


class LineTooLong(Struct, frozen=True):
    """Takes the place of a line that was dropped because it is longer than `limit` bytes."""

    limit: int


class LineSplitter:
    """Splits a byte stream into lines, however the stream was divided.

    A line includes its line break, so that it can be forwarded unchanged. A line that is too long is reported as soon
    as it passes the limit, and skipped up to its end.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Returns the lines that `data` completes, and a `LineTooLong` for each line that passes the limit."""
        return [item for piece in _pieces(data) for item in self._take(piece)]

    def end(self) -> bytes:
        """Ends the stream. Returns the last line if it has no line break, otherwise nothing."""
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


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yields the data divided after each line feed. `splitlines` would also divide it at carriage returns."""
    start = 0
    while end := data.find(b"\n", start) + 1:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]
