"""A door on two descriptors, standard input and output: served until its client is done.

Standard output is kept for messages alone: `claim_stdout` points descriptor 1 at standard error, so that a stray
print cannot break the framing.
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
# How long requests may still run once the input has ended: enough to answer a file of requests, not to linger.
GRACE = 2.0


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


def serve_stdio(connection: Connection, closing: AsyncExitStack) -> int:
    """Serves standard input and output until the client is done, then ends `closing`; the process' exit status."""
    stdout = claim_stdout()

    async def serve() -> int:
        async with closing:
            return await serve_descriptors(connection, 0, stdout)

    try:
        return asyncio.run(serve())
    except KeyboardInterrupt:
        return 130


async def serve_descriptors(connection: Connection, stdin: int, stdout: int) -> int:
    """Serves until the client is done or disappears; the exit status. The descriptors are closed at the end."""

    def lose(reason: str) -> None:
        log.warning("The client no longer reads: %s", reason)
        connection.stop(0)

    writer = DescriptorWriter(stdout, lose)
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
        # Nothing is read from a client that does not read.
        await writer.drain()
    connection.end()
