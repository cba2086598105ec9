"""Bytes into and out of this process: pipes that are read and written without blocking, and a door served on them.

A door is served on standard input and output until its client is done. Standard output is kept for messages alone:
`claim_stdout` points descriptor 1 at standard error, so that a stray print can't break the framing.
"""

import asyncio
import contextlib
import logging
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Protocol

# Bytes that a ready pipe accepts without blocking. POSIX' PIPE_BUF is at least 512; pipes of Linux and macOS are
# reported ready once they have room for 4,096.
_AT_ONCE = 4096
# Bytes that the thread writes at a time. Small, so that the count of waiting bytes stays current.
_PIECE = 1 << 16
# Waiting bytes at which `has_room` turns false, and at which it turns true again: a few large answers.
FULL, RELAXED = 1 << 22, 1 << 20


class Writer(Protocol):
    """Takes bytes and writes them to a client or an agent in order, without blocking the event loop."""

    @property
    def has_room(self) -> bool:
        """Whether the caller should write more. False while over 1 to 4 MiB wait to be taken by the reader."""
        ...

    def write(self, data: bytes) -> None:
        """Takes all of the data, to be written after the data before it, and returns at once."""
        ...

    async def drain(self) -> None:
        """Waits until `has_room` is true, or until the reader is gone."""
        ...


class Sink(Writer, Protocol):
    """A `Writer` that its owner can flush and close."""

    async def flush(self, patience: float) -> None:
        """Waits until all data is written, or until the reader has taken nothing for `patience` seconds."""
        ...

    def close(self) -> None:
        """Closes the writer. Waiting data is still written; data of later writes is dropped."""
        ...


class DescriptorWriter:
    """A `Sink` that writes to a descriptor and owns it. It must be used in the event loop in which it was made.

    If the reader is gone, `lost` is called once with the reason, and data of later writes is dropped.
    """

    def __init__(self, descriptor: int, lost: Callable[[str], object] | None = None) -> None:
        self._descriptor = descriptor
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._is_ready = _readiness_of(descriptor)
        self._room = asyncio.Event()
        self._room.set()
        self._waiting: deque[memoryview] = deque()
        self._left = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._gone = False
        self._closing = False

    @property
    def has_room(self) -> bool:
        """Whether the caller should write more: false from 4 MiB waiting on, true again at 1 MiB."""
        return self._room.is_set()

    def write(self, data: bytes) -> None:
        """Takes all of the data and returns at once. After `close`, or if the reader is gone, the data is dropped."""
        with self._changed:
            if self._gone or self._closing:
                return
            rest = memoryview(data)
            if not self._waiting:
                rest = rest[self._write_at_once(rest) :]
            if rest and not self._gone:
                self._waiting.append(rest)
                self._left += len(rest)
                self._start()
                self._changed.notify_all()
                if self._left > FULL:
                    self._room.clear()

    async def drain(self) -> None:
        await self._room.wait()

    async def flush(self, patience: float) -> None:
        if self._waiting:
            await asyncio.to_thread(self._flush, patience)

    def close(self) -> None:
        """Closes the writer.

        Waiting data is still written, then the descriptor is closed; data of later writes is dropped.
        """
        with self._changed:
            if self._closing:
                return
            self._closing = True
            if self._thread is None:
                os.close(self._descriptor)
            self._changed.notify_all()

    def _flush(self, patience: float) -> None:
        with self._changed:
            while self._waiting and not self._gone and self._changed.wait(patience):
                pass

    def _write_at_once(self, data: memoryview) -> int:
        written = 0
        try:
            while written < len(data) and self._is_ready is not None and self._is_ready():
                written += os.write(self._descriptor, data[written : written + _AT_ONCE])
        except BlockingIOError:
            return written
        except OSError as error:
            self._fail(error)
        return written

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_waiting, name="writer", daemon=True)
            self._thread.start()

    def _write_waiting(self) -> None:
        while (data := self._next()) is not None:
            try:
                written = os.write(self._descriptor, data[:_PIECE])
            except BlockingIOError:
                # Input and output may be one socket, which the reading side has made non-blocking.
                # On Windows a descriptor is never in non-blocking mode.
                if sys.platform != "win32":
                    poll = select.poll()
                    poll.register(self._descriptor, select.POLLOUT)
                    poll.poll()
                continue
            except OSError as error:
                with self._changed:
                    self._fail(error)
                continue
            self._advance(written)
        os.close(self._descriptor)

    def _next(self) -> memoryview | None:
        """Waits for data and returns its first piece, which `_advance` removes; None if closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return self._waiting[0] if self._waiting else None

    def _advance(self, written: int) -> None:
        with self._changed:
            rest = self._waiting.popleft()[written:]
            if rest:
                self._waiting.appendleft(rest)
            was_full = self._left > RELAXED
            self._left -= written
            self._changed.notify_all()
            if was_full and self._left <= RELAXED:
                self._call(self._check_room)

    def _check_room(self) -> None:
        # This runs in the loop, where more may have been written since.
        if self._left <= RELAXED:
            self._room.set()

    def _fail(self, error: OSError) -> None:
        self._gone = True
        self._waiting.clear()
        self._left = 0
        self._changed.notify_all()
        self._call(self._report, error.strerror or str(error))

    def _report(self, reason: str) -> None:
        self._room.set()
        if self._lost is not None:
            self._lost(reason)

    def _call(self, function: Callable[..., object], *args: object) -> None:
        # The loop may be closed already, because the thread keeps writing at the end of the program.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *args)


def _readiness_of(descriptor: int) -> Callable[[], bool] | None:
    """Returns a function that returns whether a write to the descriptor would return at once. Returns None if that
    can't be known.

    It can't be known for a terminal, which may block in the middle of a write although it is ready, and on Windows,
    which has no `poll`.
    """
    mode = os.fstat(descriptor).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)):
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return lambda: bool(poll.poll(0))


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
    # Files, /dev/null and Windows' pipes can't be polled.
    mode = os.fstat(descriptor).st_mode
    if not (os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))):
        return ThreadSource(descriptor)
    loop = asyncio.get_running_loop()
    _, source = await loop.connect_read_pipe(PolledSource, os.fdopen(descriptor, "rb", buffering=0))
    return source


# Seconds between two looks whether the client is still there.
_LOOK = 1.0
# Seconds that requests may still run after the input has ended: enough to answer a file of requests.
GRACE = 2.0


class Connection(Protocol):
    """One client's connection to a door: takes the client's bytes, and writes messages to the client with a writer."""

    @property
    def stopped(self) -> "Future[int]":
        """A future whose result is the exit status once the client is done."""
        ...

    def connect(self, writer: Writer) -> None:
        """Sets the writer that takes messages to the client."""
        ...

    def feed(self, data: bytes) -> None:
        """Takes the next bytes from the client, however they are divided."""
        ...

    def end(self) -> None:
        """Called when the client's input has ended. Ends the connection."""
        ...

    def stop(self, status: int) -> None:
        """Ends the connection with this exit status. Later calls are ignored."""
        ...

    async def drain(self, seconds: float) -> None:
        """Waits at most `seconds` for running requests to end, then cancels them and all other work."""
        ...


def claim_stdout() -> int:
    """Returns a new descriptor of standard output, and lets descriptor 1 write to standard error, so that only the
    caller can write to standard output."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def serve_stdio(connection: Connection, closing: AsyncExitStack) -> int:
    """Serves a connection on standard input and output until the client is done, then closes `closing`. Returns the
    process's exit status, 130 if the user interrupts."""
    stdout = claim_stdout()

    async def serve() -> int:
        async with closing:
            return await serve_descriptors(connection, 0, stdout)

    try:
        return asyncio.run(serve())
    except KeyboardInterrupt:
        return 130


async def serve_descriptors(connection: Connection, stdin: int, stdout: int) -> int:
    """Serves a connection on two descriptors until the client is done or stops reading. Returns the exit status, 0 if
    the client stops reading.

    After the end, running requests and the writer get up to `GRACE` seconds each. Closes both descriptors.
    """

    def stop_serving(reason: str) -> None:
        _log.warning("The client no longer reads: %s", reason)
        connection.stop(0)

    writer = DescriptorWriter(stdout, stop_serving)
    connection.connect(writer)
    source = await open_source(stdin)
    reading = asyncio.create_task(_read(connection, source, writer))
    watching = asyncio.create_task(_watch(connection, stdin, stdout))
    status = await asyncio.wrap_future(connection.stopped)
    reading.cancel()
    watching.cancel()
    source.close()
    await connection.drain(GRACE)
    await writer.flush(GRACE)
    writer.close()
    return status


async def client_is_gone(stdin: int, stdout: int) -> str:
    """Waits until the client of two descriptors is gone, and returns how that was seen. The end of its input shows it
    at once, unless another process has inherited the client's end of the pipe. So it is looked whether the output still
    has a reader, and whether the process that has started this one still runs.

    Does not return for input from a file or a terminal, whose end is no sign of a client, nor on Windows, where neither
    can be seen.
    """
    if sys.platform == "win32" or not _has_other_end(stdin):
        return await asyncio.get_running_loop().create_future()
    parent, reading = os.getppid(), asyncio.ensure_future(reader_is_gone(stdout))
    try:
        while not (await asyncio.wait([reading], timeout=_LOOK))[0]:
            if os.getppid() != parent:
                return "the process that has started this one has ended"
    finally:
        reading.cancel()
    return "its end of the output is closed"


async def reader_is_gone(stdout: int) -> None:
    """Waits until what is written to a descriptor has no reader, also while nothing is written. Does not return
    for a file or a terminal, nor on Windows."""
    if sys.platform == "win32" or not _has_other_end(stdout):
        await asyncio.get_running_loop().create_future()
        return
    output = select.poll()
    # Without an event to wait for, only the loss of the reader is one.
    output.register(stdout, 0)
    while not output.poll(0):
        await asyncio.sleep(_LOOK)


def _has_other_end(descriptor: int) -> bool:
    """Returns whether a descriptor is one end of a pipe or a socket."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _watch(connection: Connection, stdin: int, stdout: int) -> None:
    _log.warning("The client is gone: %s", await client_is_gone(stdin, stdout))
    connection.stop(0)


async def _read(connection: Connection, source: Source, writer: Writer) -> None:
    while data := await source.read():
        connection.feed(data)
        # No more is read from a client that doesn't read our answers.
        await writer.drain()
    connection.end()
