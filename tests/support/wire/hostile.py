"""A server whose answers are made to harm its client: they never end, unpack to much more, or have another shape."""

import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import repeat

from support.wire.clients import DIALECTS, KEY, connected
from support.wire.dialect import frame
from support.wire.http import Exchange, serve
from support.wire.replies import say
from support.wire.server import WireServer, replies
from ullage.model.json_values import as_object, as_text
from ullage.service.ports.models import Provider

_SSE = "text/event-stream"
# Bytes that an answer without end sends at most, so that a client that reads all of it ends, too.
_MOST = 512 << 20
# What parses as JSON but is no event of any protocol.
NONSENSE = (
    '{"type": "message_start", "message": null}',
    '{"type": "content_block_delta", "index": 0, "delta": null}',
    '{"type": "response.output_item.added", "output_index": 0, "item": null}',
    '{"type": "response.completed", "response": null}',
    '{"choices": null}',
    '{"choices": [{"delta": null}]}',
    '{"choices": [null]}',
    "[1, 2, 3]",
    "null",
    '"text"',
)
Pieces = Callable[[], Iterator[bytes]]


def endless_line() -> Iterator[bytes]:
    """Yields one line without end."""
    yield b"data: "
    yield from repeat(b"x" * (1 << 16), _MOST >> 16)


def endless_event() -> Iterator[bytes]:
    """Yields one event of short lines without end."""
    yield from repeat(b"data: x\n" * 8_192, _MOST >> 16)


def tiny_events() -> Iterator[bytes]:
    """Yields events without content, of five bytes each."""
    yield from repeat(b": x\n\n" * 13_107, _MOST >> 16)


def unpacked_to_much() -> Iterator[bytes]:
    """Yields 64 kB that unpack to 64 MB."""
    packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield from (packing.compress(b"x" * (1 << 24)) for _ in range(4))
    yield packing.flush()


ATTACKS: dict[str, tuple[str, Pieces]] = {
    "a line without end": ("", endless_line),
    "an event without end": ("", endless_event),
    "tiny events": ("", tiny_events),
    "gzip": ("gzip", unpacked_to_much),
    "an encoding that was not asked for": ("br", endless_line),
}


def one_event(data: str) -> Pieces:
    """Returns what sends this one event."""
    name = as_text(as_object(json.loads(data)).get("type"))
    return lambda: iter([f"event: {name}\ndata: {data}\n\n".encode() if name else f"data: {data}\n\n".encode()])


def many(data: str, count: int) -> Pieces:
    """Returns what sends this event so many times, in one piece."""
    (piece,) = one_event(data)()
    return lambda: iter([piece * count])


def error_with_key() -> Iterator[bytes]:
    """Yields an error in the middle of the answer that repeats the client's key."""
    error = {"type": "invalid_request_error", "code": "bad", "message": f"oops Bearer {KEY}"}
    yield frame("error", {"type": "error", "error": error, "code": "bad", "message": error["message"]})


@asynccontextmanager
async def attacked(kind: str, pieces: Pieces, encoding: str = "") -> AsyncGenerator[Provider]:
    """Opens the provider `kind` on a server that answers each request with these pieces of a body."""

    async def answer(exchange: Exchange) -> None:
        packed = f"content-encoding: {encoding}\r\n" if encoding else ""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {_SSE}\r\n{packed}transfer-encoding: chunked\r\n\r\n"
        await exchange.send(head.encode())
        # An empty chunk would end the answer.
        for piece in filter(None, pieces()):
            await exchange.chunk(piece)
        await exchange.chunk(b"")

    known = WireServer(DIALECTS[kind](), replies(say("Never.")))
    async with serve(answer) as known.port, connected(known, timeout=60.0) as provider:
        yield provider
