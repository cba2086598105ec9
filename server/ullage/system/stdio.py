"""A connection's standard input and output: bytes in without thread hops, whole messages out (`stdout.py`).

Standard output is kept for messages alone: `claim_stdout` points descriptor 1 at standard error, so that a stray
print cannot break the framing.
"""

import asyncio
import contextlib
import logging
import os
import stat
import threading
from concurrent.futures import Future
from typing import Protocol

from ullage.system.stdout import StdoutWriter

log = logging.getLogger(__name__)
# How long requests may still run once the input has ended: enough to answer a file of requests, not to linger.
GRACE = 2.0
CHUNK = 1 << 18


class Writer(Protocol):
    """Where messages go; returns at once."""

    def write(self, data: bytes) -> None:
        """Takes whole messages."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class Connection(Protocol):
    """What is served: bytes in, messages out to its writer."""

    @property
    def stopped(self) -> "Future[int]":
        """Holds the exit status once the client is done."""
        ...

    def connect(self, writer: Writer) -> None:
        """Where messages go from now on."""
        ...

    def feed(self, data: bytes) -> None:
        """Takes bytes in any split."""
        ...

    def end(self) -> None:
        """The input is over, the connection with it."""
        ...

    def hold(self, held: bool) -> None:
        """Much waits for the client to read it, or no longer does; nothing is read from it meanwhile."""
        ...

    def stop(self, status: int) -> None:
        """Ends the connection; the first status counts."""
        ...

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for so long, then cancels all work."""
        ...


def claim_stdout() -> int:
    """A private descriptor of standard output; descriptor 1 leads to standard error from here on."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


class StdinReader(asyncio.Protocol):
    """Hands bytes to the connection as they arrive; takes no more in while it is held."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._transport: asyncio.ReadTransport | None = None
        self._free = threading.Event()
        self._free.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """What to pause; a blocking reader has no transport."""
        if isinstance(transport, asyncio.ReadTransport):
            self._transport = transport

    def hold(self, held: bool) -> None:
        """Stops reading, or goes on with it."""
        if held:
            self._free.clear()
        else:
            self._free.set()
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.pause_reading if held else self._transport.resume_reading)()

    def wait_free(self) -> None:
        """For a blocking reader: returns while reading is not held."""
        self._free.wait()

    def data_received(self, data: bytes) -> None:
        """Takes bytes in any split."""
        self._connection.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of input ends the connection."""
        if exc is not None:
            log.warning("Reading from the client failed: %s", exc)
        self._connection.end()


async def serve_descriptors(connection: Connection, stdin: int, stdout: int) -> int:
    """Serves until the client is done or disappears; the exit status."""
    reader, loop = StdinReader(connection), asyncio.get_running_loop()

    def hold(held: bool) -> None:
        loop.call_soon_threadsafe(reader.hold, held)
        loop.call_soon_threadsafe(connection.hold, held)

    def lose(reason: str) -> None:
        log.warning("The client no longer reads: %s", reason)
        connection.stop(0)

    writer = StdoutWriter(stdout, hold, lose)
    connection.connect(writer)
    await _connect(reader, stdin)
    status = await asyncio.wrap_future(connection.stopped)
    await connection.drain(GRACE)
    await asyncio.to_thread(writer.flush, GRACE)
    writer.close()
    return status


async def _connect(reader: StdinReader, stdin: int) -> None:
    loop = asyncio.get_running_loop()
    mode = os.fstat(stdin).st_mode
    if os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(stdin)):
        await loop.connect_read_pipe(lambda: reader, os.fdopen(stdin, "rb", buffering=0, closefd=False))
    else:
        # Files and /dev/null cannot be polled, nor can Windows' pipes.
        threading.Thread(target=_read_blocking, args=(reader, stdin, loop), daemon=True).start()


def _read_blocking(reader: StdinReader, stdin: int, loop: asyncio.AbstractEventLoop) -> None:
    # The loop may close before the input ends: an `exit` in the middle of a file.
    with contextlib.suppress(RuntimeError):
        while data := os.read(stdin, CHUNK):
            loop.call_soon_threadsafe(reader.data_received, data)
            reader.wait_free()
        loop.call_soon_threadsafe(reader.connection_lost, None)
