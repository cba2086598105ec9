"""One message per line, sans I/O: bytes in, lines and refusals out."""

from collections.abc import Iterator

from msgspec import Struct

# The largest line taken: far above any session, far below what would exhaust a machine.
MAX_LINE = 1 << 28


class LineTooLong(Struct, frozen=True):
    """Stands for a line that was not kept, since it is longer than `limit` bytes."""

    limit: int


class LineSplitter:
    """Cuts a byte stream into lines, however the stream is split.

    A line comes with its line break, so that what is passed on is what came. One that is too long is told of as soon
    as it is, and skipped up to its end.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """The lines that `data` completes, and refusals of those that it makes too long."""
        return [item for piece in _pieces(data) for item in self._take(piece)]

    def end(self) -> bytes:
        """What is left when the stream ends: nothing, or a line without its break."""
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
    """The data cut behind each line feed; `splitlines` would cut at carriage returns, too."""
    start = 0
    while end := data.find(b"\n", start) + 1:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]
