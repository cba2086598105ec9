"""What a connection keeps in memory for a request that runs."""

import asyncio
import tracemalloc
from typing import Any

import msgspec
from msgspec import Struct

from support.workspace import PATIENCE
from ullage.acp.connection import INITIALIZE, AcpConnection

# Bytes: much more than everything else that a request needs.
LARGE = 4_000_000


class Params(Struct, frozen=True):
    """Params that leave out what the client sends, so that only the request's own bytes could be kept."""


class Collected:
    """A writer that counts the messages."""

    has_room = True

    def __init__(self) -> None:
        self.messages = 0

    def write(self, data: bytes) -> None:
        self.messages += 1

    async def drain(self) -> None:
        pass


def line(request_id: int, method: str, params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


async def test_a_running_request_does_not_keep_the_bytes_that_it_came_in() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def open_connection(_: Any) -> None:
        pass

    async def wait(_: Params) -> None:
        begun.set()
        await may_end.wait()

    connection, written = AcpConnection(), Collected()
    connection.add_route(INITIALIZE, Any, open_connection)
    connection.add_route("wait", Params, wait)
    connection.connect(written)
    connection.feed(line(1, INITIALIZE, {}))
    tracemalloc.start()
    try:
        connection.feed(line(2, "wait", {"text": "x" * LARGE}))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    may_end.set()
    await connection.drain(20)
    assert held < LARGE / 2
    assert written.messages == 2
