"""A small Language Server client: starts the real server as an editor would, and exchanges messages with it by stdio.

It is made of the server's own modules. pygls' client (2.1.1) isn't used for three reasons. Importing it takes 0.36 s,
this one 0.07 s. It gives the server a pipe for standard error and never reads it, so a server that logs more than the
pipe holds stops. It waits for answers without a limit.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from ullage.jsonrpc.envelope import (
    Answered,
    Called,
    Dialect,
    Event,
    FrameParser,
    Notification,
    Notified,
    Peer,
    RequestId,
)
from ullage.model.errors import UllageError

R = TypeVar("R")
LSP_PREFIX = "ullage/"
# Bytes per read; a pipe holds as many.
_CHUNK = 1 << 16
# Seconds to wait for an answer. The server answers in milliseconds; this limit is for a very busy machine.
_PATIENCE = 60.0


class ServerTrouble(UllageError):
    """Raised if the server has ended, answered with an error, or did not answer within 60 seconds."""


# Shows the server that this client understands `ullage/session/update`.
_CAPABILITIES = {"experimental": {"ullage": {"version": 1}}}

Told = Callable[[str, Raw], None]

# No opening request: the server is not the side that sends one, so its messages may come at any time.
_DIALECT = Dialect(cancel="$/cancelRequest", cancel_key="id")


class LanguageClient:
    """The connection to one server process.

    Each notification from the server is passed to `told(method, params)`, in order. Requests from the server are
    answered with null.
    """

    def __init__(self, process: asyncio.subprocess.Process, told: Told) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the server's process needs pipes")
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._told = told
        self._peer = Peer(_DIALECT)
        self._waiting: dict[RequestId, asyncio.Future[Answered]] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: Struct, result: type[R]) -> R:
        """Calls a method by its name without `ullage/`. Returns its result as `result`. Raises `ServerTrouble`."""
        return msgspec.json.decode(await self.request(LSP_PREFIX + method, params), type=result)

    async def request(self, method: str, params: Any) -> Raw:
        """Sends a request with any method. Returns its result as undecoded JSON. Raises `ServerTrouble`."""
        if self._reading.done():
            raise ServerTrouble(f"the server has ended (asked for {method})")
        asked = self._peer.ask(method, params)
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[asked.id] = waiting
        try:
            await self._send(asked)
            async with asyncio.timeout(_PATIENCE):
                answer = await waiting
        except TimeoutError as error:
            raise ServerTrouble(f"the server did not answer {method} within {_PATIENCE:.0f} s") from error
        except ConnectionError as error:
            raise ServerTrouble(f"the server is gone (asked for {method})") from error
        finally:
            self._waiting.pop(asked.id, None)
        if answer.error is not None:
            raise ServerTrouble(f"{method}: {answer.error.message}")
        return answer.result

    async def notify(self, method: str, params: Any) -> None:
        """Sends the server a notification."""
        await self._send(Notification(method=method, params=params))

    async def close(self) -> None:
        """Ends the server by `shutdown` and `exit`, and waits for its end. Does nothing if it has ended."""
        if self._reading.done():
            return
        await self.request("shutdown", None)
        await self.notify("exit", None)
        self._input.close()
        async with asyncio.timeout(_PATIENCE):
            await self._process.wait()
        await self._reading

    async def _send(self, message: Struct) -> None:
        body = msgspec.json.encode(message)
        self._input.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await self._input.drain()

    async def _read(self) -> None:
        frames = FrameParser()
        while data := await self._output.read(_CHUNK):
            for body in frames.feed(data):
                if isinstance(body, bytes):
                    await self._take(self._peer.receive(body))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ServerTrouble("the server stopped"))

    async def _take(self, event: Event) -> None:
        match event:
            case Answered() if (waiting := self._waiting.get(event.id)) is not None and not waiting.done():
                waiting.set_result(event)
            case Notified():
                self._told(event.method, event.params)
            case Called():
                await self._send(self._peer.answer(event.id, None))
            case _:
                pass


@asynccontextmanager
async def start_server(store: Path, settings: Any, told: Told) -> AsyncGenerator[LanguageClient]:
    """Starts a server with the store file `store`, and initialises it with `settings`. Yields a client for it. Raises
    `ServerTrouble`.

    The server is ended after the block, and killed if it doesn't end.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # The folder in which the user is may have a module of any name.
        "-P",
        "-m",
        "ullage",
        "lsp",
        "--store",
        str(store),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    client = LanguageClient(process, told)
    try:
        options: dict[str, Any] = {
            "processId": None,
            "rootUri": None,
            "capabilities": _CAPABILITIES,
            "initializationOptions": settings,
        }
        await client.request("initialize", options)
        await client.notify("initialized", {})
        yield client
        await client.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
