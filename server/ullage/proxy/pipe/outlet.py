"""The way out to the client or the agent: what came from the other side, and between its lines what is our own."""

from ullage.proxy.pipe.lines import Piece
from ullage.system.writer import Sink

# How long a reader that takes nothing is waited for at the end, seconds.
PATIENCE = 2.0


class Outlet:
    """Keeps lines whole: what is inserted while a long line is passed on in pieces waits for its end."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._torn = False
        self._waiting: list[bytes] = []

    def pass_on(self, piece: Piece) -> None:
        """Bytes as they came."""
        self._sink.write(piece.data)
        self._torn = not piece.ends
        if not self._torn and self._waiting:
            waiting, self._waiting = self._waiting, []
            self._sink.write(b"".join(waiting))

    def insert(self, line: bytes) -> None:
        """A whole line of our own."""
        if self._torn:
            self._waiting.append(line)
        else:
            self._sink.write(line)

    async def drain(self) -> None:
        """Waits for room: who passes on calls it after each piece, so that nobody is read faster than others read."""
        await self._sink.drain()

    async def close(self) -> None:
        """Nothing more comes. Waits until what came is written, unless the other side stops reading."""
        await self._sink.flush(PATIENCE)
        self._sink.close()
