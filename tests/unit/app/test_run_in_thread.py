"""Work that runs apart from the event loop: its result, its errors, and what a cancellation does."""

import asyncio
from threading import Event, get_ident

import pytest

from ullage.app.session_continuing import run_in_thread
from ullage.model.errors import InvalidRequest

# Seconds; far more than a busy machine needs.
PATIENCE = 60


async def test_the_result_comes_from_another_thread() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return get_ident()

    assert await run_in_thread(work) != get_ident()


async def test_an_error_reaches_who_waits() -> None:
    async def work() -> None:
        raise InvalidRequest("there is nothing to continue")

    with pytest.raises(InvalidRequest, match="nothing to continue"):
        await run_in_thread(work)


async def test_a_cancelled_wait_cancels_the_work_where_it_waits() -> None:
    began, ended = Event(), Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(run_in_thread(work))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(ended.wait, PATIENCE)
