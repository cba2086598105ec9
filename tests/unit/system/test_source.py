"""Bytes from a client or an agent, read by the event loop and by a thread."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.lsp_client import PATIENCE
from ullage.system import stdio as sources
from ullage.system.stdio import CHUNK, Source, ThreadSource, open_source


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
