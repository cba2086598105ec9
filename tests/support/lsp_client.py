"""A small Language Server client for tests: a real process over stdio, with a bound on every wait."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from support import copies

ROOT = Path(__file__).resolve().parents[2]
# Seconds: longer than any answer takes on a loaded machine, short enough to wait for a failing test.
PATIENCE = 180.0

Json = dict[str, Any]


class RpcFailure(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


def frame(message: Any) -> bytes:
    """Returns the bytes of a message on the wire. `bytes` are taken as a body."""
    body = message if isinstance(message, bytes) else msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class LspClient:
    """One server process. `notifications` and `updates` collect what the server sent. `answers` holds the client's
    answers to the server's own requests, by method."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.notifications: list[tuple[str, Any]] = []
        self.orphans: list[Json] = []
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._pending: dict[int | str, asyncio.Future[Any]] = {}
        self._arrived = asyncio.Condition()
        self._last_id = 0
        self._reading = asyncio.create_task(self._read())

    @property
    def updates(self) -> list[Json]:
        """The `update` of every `ullage/session/update` so far."""
        return [params["update"] for method, params in self.notifications if method == "ullage/session/update"]

    async def initialize(self, capabilities: Json | None = None, options: Any = None, **params: Any) -> Json:
        """Makes the handshake and returns the server's `initialize` result."""
        result = await self.request(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": capabilities or {}, "initializationOptions": options}
            | params,
        )
        await self.notify("initialized", {})
        return result

    async def request(self, method: str, params: Any = None, request_id: int | str | None = None) -> Any:
        """Sends a request and returns its result. Raises `RpcFailure` for an error, `TimeoutError` without an
        answer."""
        return await asyncio.wait_for(await self.start(method, params, request_id), PATIENCE)

    async def start(
        self, method: str, params: Any = None, request_id: int | str | None = None
    ) -> "asyncio.Future[Any]":
        """Sends a request without waiting for its answer."""
        self._last_id += 1
        request_id = self._last_id if request_id is None else request_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return future

    async def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def send(self, message: Any) -> None:
        """Sends any message."""
        await self.send_bytes(frame(message))

    async def send_bytes(self, data: bytes) -> None:
        """Sends any bytes."""
        self._stdin.write(data)
        await self._stdin.drain()

    async def wait_for(self, method: str, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """Waits for the first notification that fits, received already or later, and returns its params."""
        return await asyncio.wait_for(self._first(lambda: self._matching(method, fits)), PATIENCE)

    async def wait_for_orphan(self) -> Json:
        """Waits for the first response without a known id: the server's answer to a request that it could not read."""
        return await asyncio.wait_for(self._first(lambda: self.orphans), PATIENCE)

    async def close_input(self) -> None:
        """Ends the server's input, as a client that died does."""
        self._stdin.close()

    async def wait_closed(self) -> int:
        """Waits for the server's end and returns its exit status."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    async def shutdown(self) -> int:
        """Ends the server by the protocol and returns its exit status."""
        await self.request("shutdown")
        await self.notify("exit")
        return await self.wait_closed()

    def kill(self) -> None:
        """Sends SIGKILL."""
        self.process.kill()

    async def dispose(self) -> None:
        """Stops everything that still runs."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._stdin.close()

    def _matching(self, method: str, fits: Callable[[Any], bool]) -> list[Any]:
        return [params for name, params in self.notifications if name == method and fits(params)]

    async def _first(self, found: Callable[[], list[Any]]) -> Any:
        async with self._arrived:
            await self._arrived.wait_for(lambda: bool(found()))
        return found()[0]

    async def _read(self) -> None:
        while (message := await self._read_message()) is not None:
            await self._take(message)
        for future in self._pending.values():
            if not future.done():
                future.set_exception(ConnectionError("the server ended without an answer"))

    async def _read_message(self) -> Json | None:
        try:
            header = await self._stdout.readuntil(b"\r\n\r\n")
            assert header.startswith(b"Content-Length: "), f"not a header: {header!r}"
            body = await self._stdout.readexactly(int(header[16:]))
        except asyncio.IncompleteReadError as end:
            assert not end.partial, f"torn message: {end.partial!r}"
            return None
        return msgspec.json.decode(body)

    async def _take(self, message: Json) -> None:
        if "method" not in message:
            self._settle(message)
        elif "id" in message:
            answer = self.answers.get(message["method"], lambda _: None)(message.get("params"))
            await self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
        else:
            self.notifications.append((message["method"], message.get("params")))
        async with self._arrived:
            self._arrived.notify_all()

    def _settle(self, message: Json) -> None:
        future = self._pending.pop(message["id"], None)
        if future is None:
            self.orphans.append(message)
        elif "error" in message:
            future.set_exception(RpcFailure(message["error"]))
        else:
            future.set_result(message["result"])


@cache
def toy_server() -> Sequence[str]:
    """Returns the command that runs the toy server."""
    if sys.platform != "linux":
        return sys.executable, "-m", "support.lsp_toy"
    return copies.command(copies.begin("support.lsp_toy"))


@asynccontextmanager
async def start_server(
    command: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> AsyncGenerator[LspClient, None]:
    """Runs a server until the block ends. Its standard error is the test's own."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("server", "tests"))
    process = await asyncio.create_subprocess_exec(
        *(command or toy_server()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        limit=1 << 26,
    )
    client = LspClient(process)
    try:
        yield client
    finally:
        await client.dispose()
