"""A minimal HTTP/1.1 server for SDKs: requests with a length, answers whole or in chunks, and broken connections."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
_CRLF = "\r\n"
# Bytes. Requests' heads are far smaller; a larger head is a fault of the client.
_LONGEST_HEAD = 1 << 16


class Exchange(Struct, kw_only=True):
    """One request and its answer. `hung_up` is set once the client has closed the connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    hung_up: asyncio.Event

    async def answer(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Sends a whole JSON answer."""
        data = json.dumps(value).encode()
        head = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
        await self.send(_head(status, head) + data)

    async def begin(self) -> None:
        """Sends the head of a stream of events."""
        await self.send(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))

    async def chunk(self, data: bytes) -> None:
        """Sends a piece of the stream. An empty piece ends the stream."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def send(self, data: bytes) -> None:
        """Sends bytes unchanged."""
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Breaks the connection so that the client gets a reset instead of an end."""
        connection: socket.socket = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def serve(handler: Handler, port: int = 0) -> AsyncGenerator[int]:
    """Serves on the loopback until the block ends, and yields the port. Open connections are dropped at the end."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await _converse(handler, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            connections.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=_LONGEST_HEAD)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _converse(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Handles the requests of one connection, one after another."""
    early = b""
    while (exchange := await _read(reader, writer, early)) is not None:
        listening = asyncio.ensure_future(_listen(exchange))
        handling = asyncio.ensure_future(handler(exchange))
        try:
            await asyncio.wait([listening, handling], return_when=asyncio.FIRST_COMPLETED)
            if exchange.hung_up.is_set() or writer.transport.is_closing():
                return
            await handling
            early = listening.result() if listening.done() else b""
        finally:
            handling.cancel()
            listening.cancel()
            await asyncio.gather(handling, listening, return_exceptions=True)


async def _listen(exchange: Exchange) -> bytes:
    """Waits for bytes while a request is answered: the end of the connection, or the first byte of the next request."""
    try:
        early = await exchange.reader.read(1)
    except ConnectionError:
        early = b""
    if not early:
        exchange.hung_up.set()
    return early


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, early: bytes) -> Exchange | None:
    """Reads the next request, which begins with `early`. Returns None if there is none."""
    try:
        head = early + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split(_CRLF)
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(
        method=method,
        path=path,
        headers=headers,
        body=json.loads(body) if body else {},
        reader=reader,
        writer=writer,
        hung_up=asyncio.Event(),
    )


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return f"{_CRLF.join(lines)}{_CRLF}{_CRLF}".encode("latin-1")
