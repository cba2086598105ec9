"""The Language Server's connection: framed messages in and out, for as long as the client lives."""

import asyncio
import logging
import os
from concurrent.futures import Future

from ullage.lsp.framing import MAX_BODY, BadFrame, FrameParser
from ullage.lsp.protocol import UllageProtocol
from ullage.system.stdio import Writer

log = logging.getLogger(__name__)
# How often the client's process is looked for, seconds; the end of input is the usual, prompter sign.
WATCH = 2.0


class LspConnection:
    """The `Connection` that hands bodies to a protocol."""

    def __init__(self, protocol: UllageProtocol, max_body: int = MAX_BODY) -> None:
        self._protocol = protocol
        self._parser = FrameParser(max_body)

    @property
    def stopped(self) -> "Future[int]":
        """Holds the exit status once the client is done."""
        return self._protocol.stopped

    def connect(self, writer: Writer) -> None:
        """Where messages go from now on."""
        self._protocol.set_writer(writer)

    def feed(self, data: bytes) -> None:
        """Takes bytes in any split."""
        for item in self._parser.feed(data):
            if isinstance(item, BadFrame):
                self._protocol.refuse(item.code, item.reason)
            else:
                self._protocol.handle_body(item)

    def end(self) -> None:
        """The end of input ends the server."""
        for torn in self._parser.end():
            self._protocol.refuse(torn.code, torn.reason)
        self._protocol.stop(0)

    def hold(self, held: bool) -> None:
        """Answers are bounded by what is asked, so that not reading is enough."""

    def stop(self, status: int) -> None:
        """Ends the connection; the first status counts."""
        self._protocol.stop(status)

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for so long, then cancels all work."""
        await self._protocol.drain(seconds)


def watch_process(pid: int, protocol: UllageProtocol) -> None:
    """Stops the server when the process ends. One that cannot be seen (another container) is not watched."""
    if os.name == "posix" and _alive(pid):
        protocol.spawn(_await_death(pid, protocol))


async def _await_death(pid: int, protocol: UllageProtocol) -> None:
    while _alive(pid):
        await asyncio.sleep(WATCH)
    log.warning("The client's process %d is gone.", pid)
    protocol.stop(0)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
