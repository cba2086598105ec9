"""Cuts a byte stream into lines without decoding them, without I/O."""

from collections.abc import Iterator

from msgspec import Struct

# Bytes in the longest line that is read, 32 MiB: far above any message of a session's replay. A longer line is
# forwarded in pieces and unread, so that the proxy's memory stays bounded.
LONGEST = 1 << 25
# How a message begins, which is a JSON object, or several in an array.
_MESSAGE = (b"{", b"[")


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
