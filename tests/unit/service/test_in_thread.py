"""Work in a thread next to the event loop ends together with the task that waits for it."""

import asyncio
from concurrent.futures import CancelledError
from threading import Event, get_ident

import pytest

from support.workspace import PATIENCE
from ullage.app.session_continuing import run_in_thread
from ullage.model.errors import InvalidRequest
from ullage.service.plan import in_thread
from ullage.summary.reader import Check


async def all_threads_ended() -> None:
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), PATIENCE)


async def test_what_the_work_returns_is_handed_back_and_its_checks_let_it_go_on() -> None:
    def work(check: Check) -> str:
        check()
        return "done"

    assert await in_thread(work) == "done"


async def test_what_the_work_raises_is_raised() -> None:
    def work(_: Check) -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await in_thread(work)


async def test_abandoned_work_is_ended_by_its_next_check() -> None:
    begun, cancelled = Event(), Event()
    told: list[str] = []

    def work(check: Check) -> None:
        begun.set()
        assert cancelled.wait(PATIENCE)
        try:
            check()
        except CancelledError:
            told.append("given up")
            raise
        told.append("went on")

    waiting = asyncio.create_task(in_thread(work))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    cancelled.set()
    await all_threads_ended()
    assert told == ["given up"]


# Work that runs apart from the event loop: its result, its errors, and what a cancellation does


# Seconds; far more than a busy machine needs.
THREAD_PATIENCE = 60


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
    assert await asyncio.to_thread(began.wait, THREAD_PATIENCE)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(ended.wait, THREAD_PATIENCE)
