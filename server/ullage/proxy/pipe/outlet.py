"""Writes to the client or the agent: forwarded lines, with lines of the proxy's own between them."""

from ullage.proxy.pipe.lines import Piece
from ullage.system.writer import Sink

# Seconds that `close` waits for a reader that takes nothing.
PATIENCE = 2.0


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

    def insert(self, line: bytes) -> None:
        """Writes a whole line: at once, or after the long line that is being forwarded in pieces."""
        if self._torn:
            self._waiting.append(line)
        else:
            self._write(line)

    def _write(self, data: bytes, *, ends: bool = True) -> None:
        self._sink.write(b"\n" + data if self._cut_off else data)
        self._cut_off = ends and not data.endswith(b"\n")

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
