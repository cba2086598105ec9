"""Clients that write requests and do not read the answers, at both doors, on real pipes."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.lsp_client import PATIENCE, frame
from support.lsp_toy import EchoParams, Toy
from ullage.app.acp_agent import make_agent
from ullage.model.settings import Settings
from ullage.system.stdio import FULL, Connection, serve_descriptors

VALUE = "x" * 100_000
ANSWERS = 200


class Echo:
    """A method with large answers, which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, params: EchoParams) -> list[Any]:
        self.calls += 1
        return [params.value, VALUE]


def lsp(_: Path) -> tuple[Any, Callable[[Any], bytes], Callable[[bytes], list[Any]]]:
    def bodies(stream: bytes) -> list[Any]:
        found: list[Any] = []
        while stream:
            header, _, stream = stream.partition(b"\r\n\r\n")
            length = int(header.split(b":")[1])
            found.append(msgspec.json.decode(stream[:length]))
            stream = stream[length:]
        return found

    return Toy().server().connection, frame, bodies


def acp(tmp_path: Path) -> tuple[Any, Callable[[Any], bytes], Callable[[bytes], list[Any]]]:
    connection = make_agent(AsyncExitStack(), tmp_path / "sessions.db", Settings(provider="nobody")).connection
    return (
        connection,
        lambda message: msgspec.json.encode(message) + b"\n",
        lambda stream: [msgspec.json.decode(line) for line in stream.splitlines()],
    )


DOORS = pytest.mark.parametrize("door", [lsp, acp])


def request(request_id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


class Client:
    """The client's ends of the two pipes. `send` writes in a thread, since the server may not read."""

    def __init__(self, to_server: int, from_server: int) -> None:
        self._to_server = to_server
        self._from_server = from_server
        self.sent = threading.Event()

    def close(self) -> None:
        """Reads nothing more."""
        os.close(self._from_server)

    def send(self, data: bytes) -> None:
        threading.Thread(target=self._write, args=(data,), daemon=True).start()

    async def read_all(self) -> bytes:
        def read() -> bytes:
            return b"".join(iter(lambda: os.read(self._from_server, 1 << 16), b""))

        return await asyncio.wait_for(asyncio.to_thread(read), PATIENCE)

    def _write(self, data: bytes) -> None:
        with os.fdopen(self._to_server, "wb") as file:
            file.write(data)
        self.sent.set()


@asynccontextmanager
async def served(connection: Connection) -> AsyncGenerator[tuple[Client, "asyncio.Task[int]"]]:
    stdin, to_server = os.pipe()
    from_server, stdout = os.pipe()
    serving = asyncio.create_task(serve_descriptors(connection, stdin, stdout))
    yield Client(to_server, from_server), serving


async def until_at_rest(echo: Echo) -> int:
    """Waits until the number of calls, which has begun to grow, stops growing. Returns it."""
    calls = 0
    async with asyncio.timeout(PATIENCE):
        while not calls or calls != echo.calls:
            calls = echo.calls
            for _ in range(50):
                await asyncio.sleep(0.001)
    return calls


@DOORS
async def test_memory_is_bounded_the_loop_is_free_and_nothing_is_lost(door: Any, tmp_path: Path) -> None:
    connection, framed, bodies = door(tmp_path)
    echo = Echo()
    connection.add_route("echo", EchoParams, echo)
    asked = [request(number, "echo", value=number) for number in range(2, ANSWERS + 2)]
    async with served(connection) as (client, serving):
        opening = request(1, "initialize", capabilities={}, protocolVersion=1)
        client.send(b"".join(map(framed, (opening, *asked))))
        # Server and test share the event loop. If the server waited for its client, this would never end.
        calls = await until_at_rest(echo)
        assert 0 < calls * len(VALUE) <= FULL + 2 * len(VALUE) + 65_536
        assert connection.unfinished() > 0
        reading = asyncio.create_task(client.read_all())
        assert await asyncio.wait_for(serving, PATIENCE) == 0
        received = bodies(await reading)
        client.close()
    assert [answer["id"] for answer in received] == list(range(1, ANSWERS + 2))
    assert [answer["result"][0] for answer in received[1:]] == list(range(2, ANSWERS + 2))
    assert client.sent.is_set()
    assert connection.unfinished() == 0


@DOORS
async def test_a_client_that_goes_without_having_read_ends_the_server(door: Any, tmp_path: Path) -> None:
    connection, framed, _ = door(tmp_path)
    echo = Echo()
    connection.add_route("echo", EchoParams, echo)
    asked = [request(number, "echo", value=number) for number in range(2, ANSWERS + 2)]
    async with served(connection) as (client, serving):
        opening = request(1, "initialize", capabilities={}, protocolVersion=1)
        client.send(b"".join(map(framed, (opening, *asked))))
        await until_at_rest(echo)
        client.close()
        assert await asyncio.wait_for(serving, PATIENCE) == 0
    assert connection.unfinished() == 0
