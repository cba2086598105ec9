"""Bytes from a client or an agent, read by the event loop and by a thread."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import pytest

from support.lsp_client import PATIENCE
from ullage.system import stdio as sources
from ullage.system import stdio as writing
from ullage.system.stdio import CHUNK, FULL, DescriptorWriter, Source, ThreadSource, open_source


async def in_a_thread(descriptor: int) -> Source:
    """Returns the source that Windows uses for pipes."""
    return ThreadSource(descriptor)


Open = Callable[[int], Awaitable[Source]]
WAYS = pytest.mark.parametrize("open_end", [open_source, in_a_thread])


async def read_all(source: Source) -> bytes:
    pieces: list[bytes] = []
    async with asyncio.timeout(PATIENCE):
        while piece := await source.read():
            pieces.append(piece)
    return b"".join(pieces)


@WAYS
async def test_all_that_is_written_is_read_up_to_the_end(open_end: Open) -> None:
    reading, writing = os.pipe()
    source = await open_end(reading)
    data = os.urandom(1 << 20)

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    sending = asyncio.create_task(asyncio.to_thread(write))
    assert await read_all(source) == data
    await sending
    assert await asyncio.wait_for(source.read(), PATIENCE) == b""
    source.close()


@WAYS
async def test_what_is_not_asked_for_stays_with_the_writer(open_end: Open) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    source = await open_end(reading)
    written = os.write(writing, b"first")
    assert await asyncio.wait_for(source.read(), PATIENCE) == b"first"
    # Nothing requests more, so the source takes a bounded amount before the writer must wait.
    for _ in range(100):
        try:
            written += os.write(writing, b"x" * 65_536)
        except BlockingIOError:
            await asyncio.sleep(0)
    assert written < 2 * CHUNK
    os.close(writing)
    assert len(await read_all(source)) == written - len(b"first")
    source.close()


@WAYS
async def test_a_reading_that_was_cancelled_loses_nothing(open_end: Open) -> None:
    reading, writing = os.pipe()
    source = await open_end(reading)
    asking = asyncio.create_task(source.read())
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    os.write(writing, b"late")
    async with asyncio.timeout(PATIENCE):
        assert await source.read() == b"late"
    os.close(writing)
    assert await read_all(source) == b""
    source.close()


async def test_a_file_is_read_by_a_thread(tmp_path: Path) -> None:
    (tmp_path / "requests").write_bytes(b"x" * (CHUNK + 1))
    source = await open_source(os.open(tmp_path / "requests", os.O_RDONLY))
    assert isinstance(source, ThreadSource)
    assert len(await read_all(source)) == CHUNK + 1
    source.close()


async def test_a_system_that_cannot_watch_pipes_reads_them_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.os, "name", "nt")
    reading, writing = os.pipe()
    source = await open_source(reading)
    monkeypatch.undo()
    assert isinstance(source, ThreadSource)
    os.write(writing, b"x")
    os.close(writing)
    assert await read_all(source) == b"x"
    source.close()


# Bytes to a reader that reads slowly, late, or not at all


# Windows and terminals cannot report whether a write would block, so there the thread writes everything.
WRITING = ["polled", "by the thread"]


@pytest.fixture
def ends() -> Generator[list[int]]:
    """Yields a pipe's reading end, which the test may close, and its writing end, which the writer owns."""
    reading, writing = os.pipe()
    left = [reading, writing]
    yield left
    for end in left[:1]:
        os.close(end)


def cannot_poll(_: int) -> None:
    pass


@pytest.fixture(params=WRITING)
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[DescriptorWriter]:
    if request.param != WRITING[0]:
        monkeypatch.setattr(writing, "_readiness_of", cannot_poll)
    return DescriptorWriter


Make = Callable[..., DescriptorWriter]


async def read_exactly(descriptor: int, count: int) -> bytes:
    def read() -> bytes:
        data = bytearray()
        while len(data) < count and (piece := os.read(descriptor, count - len(data))):
            data += piece
        return bytes(data)

    return await asyncio.wait_for(asyncio.to_thread(read), PATIENCE)


async def test_what_a_pipe_takes_is_there_when_write_returns(ends: list[int]) -> None:
    writer = DescriptorWriter(ends[1])
    writer.write(b"x" * 10_000)
    os.set_blocking(ends[0], False)
    assert os.read(ends[0], 20_000) == b"x" * 10_000
    writer.close()


async def test_a_reader_that_comes_late_gets_all_in_order_and_the_loop_never_waits(ends: list[int], make: Make) -> None:
    writer = make(ends[1])
    messages = [bytes([number]) * 1_000_000 for number in range(8)]
    for message in messages:
        writer.write(message)
    assert not writer.has_room
    draining = asyncio.create_task(writer.drain())
    assert await read_exactly(ends[0], 8_000_000) == b"".join(messages)
    await asyncio.wait_for(draining, PATIENCE)
    assert writer.has_room
    writer.close()


async def test_small_messages_do_not_overtake_a_large_one(ends: list[int], make: Make) -> None:
    writer = make(ends[1])
    messages = [b"L" * 200_000, *(b"%04d" % number for number in range(500))]
    reading = asyncio.create_task(read_exactly(ends[0], 202_000))
    for message in messages:
        writer.write(message)
        await asyncio.sleep(0)
    assert await reading == b"".join(messages)
    writer.close()


async def test_a_writer_with_little_to_write_has_room(ends: list[int], make: Make) -> None:
    writer = make(ends[1])
    writer.write(b"x" * (FULL // 2))
    assert writer.has_room
    assert len(await read_exactly(ends[0], FULL // 2)) == FULL // 2
    await writer.flush(PATIENCE)
    writer.close()


async def test_a_reader_that_disconnects_is_reported_once_and_blocks_nothing(ends: list[int], make: Make) -> None:
    reasons: list[str] = []
    gone = asyncio.Event()

    def lost(reason: str) -> None:
        reasons.append(reason)
        gone.set()

    writer = make(ends[1], lost)
    writer.write(b"x" * 2 * FULL)
    assert not writer.has_room
    os.close(ends.pop(0))
    await asyncio.wait_for(gone.wait(), PATIENCE)
    await asyncio.wait_for(writer.drain(), PATIENCE)
    writer.write(b"y")
    await writer.flush(PATIENCE)
    writer.close()
    assert reasons == ["Broken pipe"]
    ends.clear()


async def test_flushing_gives_up_on_a_reader_that_takes_nothing(ends: list[int], make: Make) -> None:
    writer = make(ends[1])
    writer.write(b"x" * 1_000_000)
    await asyncio.wait_for(writer.flush(0.05), PATIENCE)
    assert len(await read_exactly(ends[0], 1_000_000)) == 1_000_000
    writer.close()


async def test_what_waits_when_the_writer_is_closed_is_still_written(ends: list[int], make: Make) -> None:
    writer = make(ends[1])
    writer.write(b"x" * 1_000_000)
    writer.close()
    writer.write(b"too late")
    assert await read_exactly(ends[0], 2_000_000) == b"x" * 1_000_000
