"""Descriptors as streams with backpressure: nothing more is read than the other side takes."""

import asyncio
import logging
import os
import stat
from typing import Protocol

_log = logging.getLogger(__name__)

# Bytes that may wait for a reader before writing pauses, and bytes read at once.
_ROOM = 1 << 20
CHUNK = 1 << 18


class Source(Protocol):
    """Bytes to read."""

    async def read(self, n: int, /) -> bytes:
        """At most `n` bytes, as soon as there are some; none at the end."""
        ...


class Sink(Protocol):
    """Takes bytes at once, and says when it has room again."""

    def write(self, data: bytes) -> None:
        """Takes all of it."""
        ...

    async def drain(self) -> None:
        """Returns when there is room for more, or nobody reads any longer."""
        ...

    def close(self) -> None:
        """Nothing more comes; what waits is still written."""
        ...


class _PipeSink(asyncio.BaseProtocol):
    """A descriptor that can be polled. What is written once its reader has gone is dropped."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.set_write_buffer_limits(high=_ROOM)
            self._transport = transport

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        _log.debug("A reader has gone: %s", exc)
        self._transport = None
        self._room.set()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        await self._room.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _FileSink:
    """A file, which always has room."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        os.close(self._descriptor)


class _FileSource:
    """A file, or what else cannot be polled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, n: int, /) -> bytes:
        return await asyncio.to_thread(os.read, self._descriptor, n)


async def open_sink(descriptor: int) -> Sink:
    """A descriptor to write to, which is the sink's from here on."""
    if not _can_poll(descriptor):
        return _FileSink(descriptor)
    sink = _PipeSink()
    await asyncio.get_running_loop().connect_write_pipe(lambda: sink, os.fdopen(descriptor, "wb", buffering=0))
    return sink


async def open_source(descriptor: int) -> Source:
    """A descriptor to read from, which is the source's from here on; reading pauses while much is unread."""
    if not _can_poll(descriptor):
        return _FileSource(descriptor)
    reader = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", buffering=0))
    return reader


def _can_poll(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
