"""Writes to the client or the agent: forwarded lines, with lines of the proxy's own between them."""

from ullage.proxy.pipe.lines import Piece
from ullage.system.writer import Sink

# Seconds that `close` waits for a reader that takes nothing.
PATIENCE = 2.0


class Outlet:
    """Writes to the client or to the agent, and never puts one line into another.

    A line that is inserted while a long line is forwarded in pieces waits for the end of the long line.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._torn = False
        self._waiting: list[bytes] = []

    def pass_on(self, piece: Piece) -> None:
        """Writes a forwarded piece unchanged. If it ends a line, the lines that waited for that are written after
        it."""
        self._sink.write(piece.data)
        self._torn = not piece.ends
        if not self._torn and self._waiting:
            waiting, self._waiting = self._waiting, []
            self._sink.write(b"".join(waiting))

    def insert(self, line: bytes) -> None:
        """Writes a whole line of the proxy's own: at once, or after the long line that is being forwarded in pieces."""
        if self._torn:
            self._waiting.append(line)
        else:
            self._sink.write(line)

    @property
    def has_room(self) -> bool:
        """Whether the caller should write more; see `Writer.has_room`."""
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
