"""A small Language Server client: starts the real server as an editor would, and speaks to it over stdio."""

import asyncio
import itertools
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from ullage.model.errors import UllageError

R = TypeVar("R")
LSP_PREFIX = "ullage/"
_LENGTH = b"content-length:"
# A message with a whole conversation in it; StreamReader's own limit is 64 KiB a line.
_LIMIT = 1 << 26
# The server answers in milliseconds; this is for a machine that is very busy, seconds.
_PATIENCE = 60.0


class ServerTrouble(UllageError):
    """The server stopped, answered with an error, or did not answer."""


class Incoming(Struct, frozen=True):
    """What the server sends: an answer (`id`, `result` or `error`), a request or a notification (`method`)."""

    id: int | str | None = None
    method: str | None = None
    params: Raw = Raw(b"null")
    result: Raw = Raw(b"null")
    error: dict[str, Any] | None = None


# What tells the server that we understand `ullage/session/update`.
_CAPABILITIES = {"experimental": {"ullage": {"version": 1}}}

Told = Callable[[str, Raw], None]


class LanguageClient:
    """One connection. Notifications go to `told(method, params)`, in order; the server's requests are answered null."""

    def __init__(self, process: asyncio.subprocess.Process, told: Told) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the server's process needs pipes")
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._told = told
        self._numbers = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[Incoming]] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: Struct, result: type[R]) -> R:
        """One of our own methods, by its name without prefix. Raises `ServerTrouble`."""
        return msgspec.json.decode((await self.request(LSP_PREFIX + method, params)).result, type=result)

    async def request(self, method: str, params: Any) -> Incoming:
        """Any request. Raises `ServerTrouble`."""
        number = next(self._numbers)
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = await asyncio.wait_for(waiting, _PATIENCE)
        except TimeoutError as error:
            raise ServerTrouble(f"the server did not answer {method} within {_PATIENCE:.0f} s") from error
        except ConnectionError as error:
            raise ServerTrouble(f"the server is gone (asked for {method})") from error
        finally:
            self._waiting.pop(number, None)
        if answer.error is not None:
            raise ServerTrouble(f"{method}: {answer.error.get('message')}")
        return answer

    async def notify(self, method: str, params: Any) -> None:
        """A notification."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def close(self) -> None:
        """Ends the server as the protocol wants it, and waits for its end."""
        await self.request("shutdown", None)
        await self.notify("exit", None)
        self._input.close()
        await asyncio.wait_for(self._process.wait(), _PATIENCE)
        await self._reading

    async def _send(self, message: dict[str, Any]) -> None:
        body = msgspec.json.encode(message)
        self._input.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await self._input.drain()

    async def _read(self) -> None:
        while (body := await self._frame()) is not None:
            message = msgspec.json.decode(body, type=Incoming)
            if message.method is None:
                waiting = self._waiting.get(message.id) if message.id is not None else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
            elif message.id is None:
                self._told(message.method, message.params)
            else:
                await self._send({"jsonrpc": "2.0", "id": message.id, "result": None})
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ServerTrouble("the server stopped"))

    async def _frame(self) -> bytes | None:
        length = 0
        while line := (await self._output.readline()).strip().lower():
            if line.startswith(_LENGTH):
                length = int(line.removeprefix(_LENGTH))
        return await self._output.readexactly(length) if length else None


@asynccontextmanager
async def start_server(store: Path, settings: Any, told: Told) -> AsyncGenerator[LanguageClient]:
    """The server on that store, initialised with these settings; ended when done with, killed if it will not end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ullage",
        "lsp",
        "--store",
        str(store),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LIMIT,
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
