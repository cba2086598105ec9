"""Descriptors as streams with backpressure: nothing more is read than the other side takes."""

import asyncio
import os
import stat
import threading

# Bytes that may wait for a reader before writing pauses, and bytes read at once.
_ROOM = 1 << 20
CHUNK = 1 << 18


class PipeSink(asyncio.BaseProtocol):
    """A descriptor to write to. What is written once its reader has gone is dropped."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The event loop has the descriptor."""
        if isinstance(transport, asyncio.WriteTransport):
            transport.set_write_buffer_limits(high=_ROOM)
            self._transport = transport

    def pause_writing(self) -> None:
        """Enough waits."""
        self._room.clear()

    def resume_writing(self) -> None:
        """The reader goes on."""
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody reads any longer."""
        self._transport = None
        self._room.set()

    def write(self, data: bytes) -> None:
        """Takes all of it at once."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        """Returns when there is room for more."""
        await self._room.wait()

    def close(self) -> None:
        """Writes what waits, then closes the descriptor."""
        if self._transport is not None:
            self._transport.close()


class FileSink:
    """A file to write to, which always has room."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Takes all of it at once."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    async def drain(self) -> None:
        """Returns at once."""

    def close(self) -> None:
        """Nothing waits."""


async def open_sink(descriptor: int) -> PipeSink | FileSink:
    """A descriptor to write to, which is the sink's from here on."""
    if not _can_poll(descriptor):
        return FileSink(descriptor)
    sink = PipeSink()
    await asyncio.get_running_loop().connect_write_pipe(lambda: sink, os.fdopen(descriptor, "wb", buffering=0))
    return sink


async def open_source(descriptor: int) -> asyncio.StreamReader:
    """A descriptor to read from, which is the stream's from here on; reading pauses while much is unread."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK)
    if _can_poll(descriptor):
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", buffering=0))
    else:
        # Files and /dev/null cannot be polled.
        threading.Thread(target=_read_file, args=(descriptor, reader, loop), daemon=True).start()
    return reader


def _read_file(descriptor: int, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    while data := os.read(descriptor, CHUNK):
        loop.call_soon_threadsafe(reader.feed_data, data)
    loop.call_soon_threadsafe(reader.feed_eof)


def _can_poll(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
