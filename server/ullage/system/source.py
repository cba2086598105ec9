"""Reads bytes from a client or an agent.

Bytes are read only on request, so a reader that stops makes the sender wait.
"""

import asyncio
import contextlib
import logging
import os
import stat
import threading
from typing import Protocol

_log = logging.getLogger(__name__)
# Bytes per read.
CHUNK = 1 << 18


class Source(Protocol):
    """A stream of bytes from a client or an agent. Bytes are read only on request, so that a reader that stops makes
    the sender wait."""

    async def read(self) -> bytes:
        """Waits for the next bytes and returns them. Returns empty bytes at the end of the stream."""
        ...

    def close(self) -> None:
        """Stops reading and closes the stream."""
        ...


class PolledSource(asyncio.Protocol):
    """A `Source` that reads a pipe, socket or terminal by the event loop. Reading pauses while received bytes wait to
    be requested."""

    def __init__(self) -> None:
        self._transport: asyncio.ReadTransport | None = None
        self._data = bytearray()
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        if not self._data and not self._ended:
            if self._transport is not None:
                self._transport.resume_reading()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = bytes(self._data)
        self._data.clear()
        return data

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.ReadTransport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._waiter is None and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            _log.warning("Reading failed: %s", exc)
        self._transport = None
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None


class ThreadSource:
    """A `Source` that reads any other descriptor, such as a file, or any on Windows. A thread reads one piece per
    request.

    The thread is a daemon, so that the program can end while a client keeps its end of the stream open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        # Stays true if a read is cancelled: the piece that the thread then reads is returned by the next call.
        self._asked = False
        self._ended = False
        self._closed = False
        threading.Thread(target=self._read, name="reader", daemon=True).start()

    async def read(self) -> bytes:
        if self._ended:
            return b""
        if not self._asked:
            self._asked = True
            self._wanted.release()
        data = await self._pieces.get()
        self._asked = False
        self._ended = not data
        return data

    def close(self) -> None:
        self._closed = True
        self._wanted.release()

    def _read(self) -> None:
        data = b"\n"
        while data:
            self._wanted.acquire()
            data = b"" if self._closed else self._read_some()
            # The loop may be closed before the input ends, for example by an `exit` in the middle of a file.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._pieces.put_nowait, data)
        os.close(self._descriptor)

    def _read_some(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK)
        except OSError as error:
            _log.warning("Reading failed: %s", error)
            return b""


async def open_source(descriptor: int) -> Source:
    """Returns a source that reads the descriptor. From here on the source owns the descriptor and closes it."""
    if not _can_poll(descriptor):
        return ThreadSource(descriptor)
    loop = asyncio.get_running_loop()
    _, source = await loop.connect_read_pipe(PolledSource, os.fdopen(descriptor, "rb", buffering=0))
    return source


def _can_poll(descriptor: int) -> bool:
    # Files, /dev/null and Windows' pipes can't be polled.
    mode = os.fstat(descriptor).st_mode
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))
