"""Serves a door on standard input and output until its client is done.

Standard output is kept for messages alone: `claim_stdout` points descriptor 1 at standard error, so that a stray print
can't break the framing.
"""

import asyncio
import logging
import os
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Protocol

from ullage.system.source import Source, open_source
from ullage.system.writer import DescriptorWriter, Writer

log = logging.getLogger(__name__)
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
        log.warning("The client no longer reads: %s", reason)
        connection.stop(0)

    writer = DescriptorWriter(stdout, stop_serving)
    connection.connect(writer)
    source = await open_source(stdin)
    reading = asyncio.create_task(_read(connection, source, writer))
    status = await asyncio.wrap_future(connection.stopped)
    reading.cancel()
    source.close()
    await connection.drain(GRACE)
    await writer.flush(GRACE)
    writer.close()
    return status


async def _read(connection: Connection, source: Source, writer: Writer) -> None:
    while data := await source.read():
        connection.feed(data)
        # No more is read from a client that doesn't read our answers.
        await writer.drain()
    connection.end()
