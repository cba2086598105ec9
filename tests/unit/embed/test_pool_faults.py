"""A pool whose callers are cancelled, fail, or are still at work when it is closed: no caller waits for ever, and what
was added stays."""

import asyncio
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from support.workspace import PATIENCE
from ullage import AsyncContextManager, ContextManager, ContextPool, SummaryTask
from ullage.service.conversation.conversation import Conversation

TALK = [{"role": role, "content": "fog and rain " * 300} for role in ("user", "assistant") * 10]


class Stuck:
    """A model that never answers. `began` and `ended` say that it was asked, and that it was cancelled."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, task: SummaryTask) -> str:
        del task
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError


async def filled(pool: ContextPool, name: str) -> AsyncContextManager:
    context = await pool.open_async(name)
    await context.add_message(*TALK)
    return context


async def test_a_cancelled_compaction_ends_its_model_and_leaves_the_conversation_as_it_was() -> None:
    model = Stuck()
    with ContextPool("gpt-4o", llm=model, window=12_000, open_at_most=1) as pool:
        context = await filled(pool, "a")
        before = await context.get_messages()
        async with asyncio.timeout(PATIENCE):
            compacting = asyncio.create_task(context.compact())
            await model.began.wait()
            compacting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await compacting
            await model.ended.wait()
            assert await context.get_messages() == before
            assert await context.history() == ()
            # It is not used any more, so it makes room for another one.
            await filled(pool, "b")
            assert pool.held == 1
            await context.add_message({"role": "user", "content": "Go on."})


async def test_what_fails_in_one_conversation_reaches_its_caller_alone(tmp_path: Path) -> None:
    with ContextPool("gpt-4o", store=tmp_path / "store.db", open_at_most=1) as pool:

        async def fail(conversation: Conversation) -> None:
            del conversation
            raise ZeroDivisionError

        async def talk(number: int) -> None:
            async with await pool.open_async(f"{number}") as context:
                await context.add_message({"role": "user", "content": f"{number}"})
                if number % 2:
                    await pool.wait_for(f"{number}", fail)

        done = await asyncio.gather(*map(talk, range(40)), return_exceptions=True)
        assert [type(one) for one in done] == [type(None), ZeroDivisionError] * 20
        assert pool.held <= 1
        for number in range(40):
            assert pool.open(f"{number}").get_messages() == [{"role": "user", "content": f"{number}"}]


async def test_closing_ends_what_still_runs_and_who_waits_for_it(tmp_path: Path) -> None:
    model = Stuck()
    pool = ContextPool("gpt-4o", llm=model, window=12_000, store=tmp_path / "store.db")
    context = await filled(pool, "a")
    async with asyncio.timeout(PATIENCE):
        compacting = asyncio.create_task(context.compact())
        await model.began.wait()
        await asyncio.to_thread(pool.close)
        with pytest.raises((asyncio.CancelledError, Exception)):
            await compacting
    with ContextManager("gpt-4o", store=tmp_path / "store.db", session_id="a") as again:
        assert len(again.get_messages()) == len(TALK)


async def test_a_closed_pool_refuses_every_call_and_may_be_closed_again() -> None:
    pool = ContextPool("gpt-4o")
    context, plain = await pool.open_async("a"), pool.open("b")
    pool.close()
    pool.close()
    calls: list[Any] = [
        lambda: pool.open("a"),
        lambda: plain.add_message({"role": "user", "content": "x"}),
        plain.get_messages,
        lambda: pool.held,
    ]
    for call in calls:
        with pytest.raises(Exception, match="closed"):
            await asyncio.wait_for(asyncio.to_thread(call), PATIENCE)
    for each in (context.get_messages, context.compact, lambda: pool.open_async("a")):
        with pytest.raises(Exception, match="closed"):
            await asyncio.wait_for(each(), PATIENCE)


def test_threads_that_work_while_the_pool_is_closed_end(tmp_path: Path) -> None:
    pool = ContextPool("gpt-4o", store=tmp_path / "store.db", open_at_most=3)
    going, added = Event(), [0] * 8

    def talk(number: int) -> None:
        try:
            context = pool.open(f"{number}")
            while True:
                context.add_message({"role": "user", "content": f"{added[number]}"})
                added[number] += 1
                if all(added):
                    going.set()
        except BaseException:  # noqa: BLE001 - a pool that is closed
            return

    threads = [Thread(target=talk, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    assert going.wait(PATIENCE)
    pool.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    # What a call has returned for is there; of one that was running, it may be.
    for number in range(8):
        with ContextManager("gpt-4o", store=tmp_path / "store.db", session_id=f"{number}") as context:
            kept = [message["content"] for message in context.get_messages()]
        assert len(kept) - added[number] in (0, 1)
        assert kept == [str(each) for each in range(len(kept))]


PROGRAM = """
import atexit
from ullage import ContextManager

manager = ContextManager("gpt-4o", window=8_000)
atexit.register(lambda: print(manager.compact_sync().summary[:1], manager.token_usage < 4_000))
for number in range(10):
    manager.add_message({"role": "user", "content": f"Row {number}? " + "pear tree, plum " * 120})
    manager.add_message({"role": "assistant", "content": f"Row {number} has twelve."})
"""


def test_a_program_may_end_without_closing_and_use_a_manager_until_then() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    assert (ran.stdout, ran.stderr) == ("# True\n", "")
