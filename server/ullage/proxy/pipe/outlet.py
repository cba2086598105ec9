"""The way out to the client or the agent: lines of the other side's, and lines of the proxy's own between them."""

from ullage.proxy.pipe.lines import Piece
from ullage.system.writer import Sink

# How long the end waits for a reader that takes nothing, seconds.
PATIENCE = 2.0


class Outlet:
    """Keeps lines whole: a line that is inserted while a long one is passed on in pieces waits for its end."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._torn = False
        self._waiting: list[bytes] = []

    def pass_on(self, piece: Piece) -> None:
        """Passes bytes on as they came."""
        self._sink.write(piece.data)
        self._torn = not piece.ends
        if not self._torn and self._waiting:
            waiting, self._waiting = self._waiting, []
            self._sink.write(b"".join(waiting))

    def insert(self, line: bytes) -> None:
        """Writes a whole line of the proxy's own."""
        if self._torn:
            self._waiting.append(line)
        else:
            self._sink.write(line)

    async def drain(self) -> None:
        """Waits for room. Each pump calls it after each piece, so that it reads no faster than the other side does."""
        await self._sink.drain()

    async def close(self) -> None:
        """Closes the way; nothing may be written after it. Waits until what came is written, unless the other side
        stops reading."""
        await self._sink.flush(PATIENCE)
        self._sink.close()
