"""Many conversations in one process: what is in memory is bounded, and nothing is lost by it."""

import asyncio
import gc
import tracemalloc
from pathlib import Path
from threading import Thread

from ullage import AsyncContextManager, ContextManager, ContextPool
from ullage.service.conversation.conversation import Conversation
from ullage.tokens.counter import forget_pieces

SESSIONS = 200
OPEN = 20


def held_conversations() -> int:
    gc.collect()
    return sum(isinstance(one, Conversation) for one in gc.get_objects())


def test_hundreds_of_sessions_are_used_and_only_the_newest_are_held() -> None:
    before = held_conversations()
    with ContextPool("gpt-4o", open_at_most=OPEN) as pool:
        contexts = [pool.open(f"session-{number}") for number in range(SESSIONS)]
        assert pool.held == OPEN
        for number, context in enumerate(contexts):
            context.add_message({"role": "user", "content": f"Remember {number}."})
        assert pool.held == OPEN
        assert held_conversations() - before == OPEN
        # They come back from the store with what they had.
        for number in (0, 7, SESSIONS - 1):
            assert contexts[number].get_messages() == [{"role": "user", "content": f"Remember {number}."}]
            contexts[number].add_message({"role": "assistant", "content": "Yes."})
            assert len(contexts[number].get_messages()) == 2
        assert pool.held == OPEN


def test_memory_does_not_grow_with_the_number_of_sessions() -> None:
    text = "fog and rain " * 400

    def grown(sessions: int) -> int:
        with ContextPool("gpt-4o", open_at_most=5) as pool:
            # The process's cache of counts, which is bounded, may grow its table by more than is measured here.
            forget_pieces()
            pool.open("warm").add_message({"role": "user", "content": text})
            gc.collect()
            tracemalloc.start()
            for number in range(sessions):
                pool.open(f"{number}").add_message({"role": "user", "content": f"{number} {text}"})
            gc.collect()
            used, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return used

    few, many = grown(20), grown(200)
    # A held conversation has its text of 5 kB at least: 180 more would be 900 kB.
    assert many - few < 200_000, (few, many)


def test_a_conversation_in_use_is_not_dropped() -> None:
    with ContextPool("gpt-4o", open_at_most=1) as pool:

        async def use(conversation: Conversation) -> bool:
            for number in range(5):
                await asyncio.to_thread(lambda: None)
                with pool.shared.host.using(pool.shared.host.workspace.open("used").id):
                    assert conversation.is_open, number
            return conversation.is_open

        pool.open("used")
        assert pool.run("used", use)


def test_closing_a_manager_of_a_pool_drops_its_conversation_alone() -> None:
    with ContextPool("gpt-4o") as pool:
        with pool.open("a") as one, pool.open("b") as other:
            one.add_message({"role": "user", "content": "Hello."})
            assert pool.held == 2
            one.close()
            assert pool.held == 1
            assert other.token_usage == 0
        assert pool.held == 0
        assert len(pool.open("a").get_messages()) == 1


async def test_tasks_and_threads_share_a_pool(tmp_path: Path) -> None:
    with ContextPool("gpt-4o", store=tmp_path / "store.db", open_at_most=3) as pool:

        async def talk(number: int) -> AsyncContextManager:
            context = await pool.open_async(f"task-{number}")
            for each in range(10):
                await context.add_message({"role": "user", "content": f"{number}-{each}"})
            return context

        def talk_plainly(number: int) -> None:
            context = pool.open(f"thread-{number}")
            for each in range(10):
                context.add_message({"role": "user", "content": f"{number}-{each}"})

        threads = [Thread(target=talk_plainly, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        contexts = await asyncio.gather(*map(talk, range(20)))
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
        for number, context in enumerate(contexts):
            assert [each["content"] for each in await context.get_messages()] == [f"{number}-{n}" for n in range(10)]
        assert pool.held == 3
    with ContextManager("gpt-4o", store=tmp_path / "store.db", session_id="thread-3") as context:
        assert len(context.get_messages()) == 10
