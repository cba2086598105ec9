"""Messages to a client that reads slowly, late, or not at all."""

import asyncio
import os
from collections.abc import Generator
from threading import Event

import msgspec
import pytest

from support.lsp_client import PATIENCE, frame
from support.lsp_toy import Toy
from ullage.lsp.connection import LspConnection
from ullage.system.stdio import serve_descriptors
from ullage.system.stdout import FULL, StdoutWriter

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Generator[Pipe]:
    """Returns a pipe's reading and writing end. The test may close either."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def read_exactly(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := os.read(descriptor, count - len(data))):
        data += piece
    return bytes(data)


class Told:
    """Records what the writer reported to its owner."""

    def __init__(self) -> None:
        self.held: list[bool] = []
        self.lost: list[str] = []
        self.relaxed = Event()
        self.gone = Event()

    def hold(self, held: bool) -> None:
        self.held.append(held)
        if not held:
            self.relaxed.set()

    def lose(self, reason: str) -> None:
        self.lost.append(reason)
        self.gone.set()


def test_what_the_pipe_takes_is_there_when_write_returns(pipe: Pipe) -> None:
    told = Told()
    StdoutWriter(pipe[1], told.hold, told.lose).write(b"x" * 10_000)
    os.set_blocking(pipe[0], False)
    assert read_exactly(pipe[0], 10_000) == b"x" * 10_000


def test_a_client_that_does_not_read_is_waited_for_by_nobody_and_gets_all_in_order(pipe: Pipe) -> None:
    told = Told()
    writer = StdoutWriter(pipe[1], told.hold, told.lose)
    messages = [bytes([number]) * 1_000_000 for number in range(8)]
    for message in messages:
        writer.write(message)
    assert told.held == [True]
    received = read_exactly(pipe[0], 8_000_000)
    assert received == b"".join(messages)
    assert told.relaxed.wait(PATIENCE)
    assert told.held == [True, False]


def test_little_that_waits_stops_no_reading(pipe: Pipe) -> None:
    told = Told()
    writer = StdoutWriter(pipe[1], told.hold, told.lose)
    writer.write(b"x" * (FULL // 2))
    assert len(read_exactly(pipe[0], FULL // 2)) == FULL // 2
    writer.flush(PATIENCE)
    assert told.held == []


def test_a_client_that_goes_while_something_waits_is_told_of_once(pipe: Pipe) -> None:
    told = Told()
    writer = StdoutWriter(pipe[1], told.hold, told.lose)
    writer.write(b"x" * 1_000_000)
    os.close(pipe[0])
    assert told.gone.wait(PATIENCE)
    writer.write(b"y")
    writer.flush(PATIENCE)
    assert told.lost == ["Broken pipe"]


def test_flushing_gives_up_on_a_client_that_takes_nothing(pipe: Pipe) -> None:
    told = Told()
    writer = StdoutWriter(pipe[1], told.hold, told.lose)
    writer.write(b"x" * 1_000_000)
    writer.flush(0.05)
    writer.close()
    assert told.lost == []


def request(request_id: int, method: str, **params: object) -> bytes:
    return frame({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def answers(stream: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    while stream:
        header, _, stream = stream.partition(b"\r\n\r\n")
        length = int(header.split(b":")[1])
        found.append(msgspec.json.decode(stream[:length]))
        stream = stream[length:]
    return found


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.close(descriptor)


def read_all(descriptor: int) -> bytes:
    return b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))


async def test_a_server_whose_client_does_not_read_stays_responsive_and_stops_reading() -> None:
    stdin, to_server = os.pipe()
    from_server, stdout = os.pipe()
    toy = Toy()
    serving = asyncio.ensure_future(serve_descriptors(LspConnection(toy.server().connection), stdin, stdout))
    echoes = [request(number, "ullage/echo", value="x" * 500_000) for number in range(2, 42)]
    sending = asyncio.ensure_future(
        asyncio.to_thread(write_all, to_server, request(1, "initialize", capabilities={}) + b"".join(echoes))
    )
    # Server and test share the event loop. If the server waited for the test to read, this would never end.
    done, _ = await asyncio.wait((serving, sending), timeout=0.5)
    assert not done
    received = asyncio.ensure_future(asyncio.to_thread(read_all, from_server))
    await asyncio.wait_for(sending, PATIENCE)
    assert await asyncio.wait_for(serving, PATIENCE) == 0
    os.close(stdout)
    found = answers(await asyncio.wait_for(received, PATIENCE))
    assert [answer["id"] for answer in found] == list(range(1, 42))
    os.close(from_server)
