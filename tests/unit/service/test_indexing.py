"""Indexing in the background: messages are indexed without a search, in steps, and a refusal ends nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from support.logs import conversation
from support.memory_store import MemoryStore
from support.workspace import PATIENCE, build_test_client
from ullage.model.errors import StoreUnavailable
from ullage.service.archive.search import index_session, indexing
from ullage.store import open_store
from ullage.store.sqlite.database import reconnect


class Counting(MemoryStore):
    """A store with some records to index. The steps with the given numbers, from 1, are refused."""

    def __init__(self, left: int, refused: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.left, self.refused, self.steps = left, refused, 0

    def index_some(self, session_id: str | None = None) -> int:
        self.steps += 1
        if self.steps in self.refused:
            raise StoreUnavailable("session store is locked")
        self.left = max(0, self.left - 1)
        return self.left


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.005)


def indexed(path: Path) -> int:
    connection = reconnect(path)
    try:
        return connection.execute("SELECT count(*) FROM message_words_docsize").fetchone()[0]
    finally:
        connection.close()


async def test_messages_are_indexed_without_a_search_and_those_that_come_later_as_well(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        client = build_test_client(store)
        with indexing(client.workspace, first=0, every=0.01):
            session_id = (await client.call("session/new"))["sessionId"]
            await client.say(session_id, "a walnut", "an almond")
            await until(lambda: indexed(store.path) == 2)
            await client.say(session_id, "a hazel")
            await until(lambda: indexed(store.path) == 3)


async def test_a_store_that_refuses_is_tried_again() -> None:
    store = Counting(3, refused=frozenset({1, 3}))
    with indexing(build_test_client(store).workspace, first=0, every=0.001):
        await until(lambda: store.left == 0)


async def test_nothing_is_indexed_after_the_end() -> None:
    store = Counting(10**9)
    with indexing(build_test_client(store).workspace, first=0, every=0.001):
        await until(lambda: store.steps > 0)
    # The step that runs in a thread ends.
    await asyncio.sleep(0)
    steps = store.steps
    await asyncio.to_thread(lambda: None)
    assert store.steps <= steps + 1


async def test_nothing_is_indexed_before_the_first_pause_is_over() -> None:
    store = Counting(3)
    with indexing(build_test_client(store).workspace, first=PATIENCE):
        await asyncio.sleep(0)
    assert store.steps == 0


@pytest.mark.parametrize("left", [1, 4])
async def test_indexing_a_session_tells_what_is_left_and_ends_with_nothing_left(left: int) -> None:
    store = Counting(left)
    told: list[int] = []
    await index_session(build_test_client(store).workspace, "s", told.append)
    assert told == list(range(left - 1, 0, -1))
    assert store.left == 0


async def test_a_session_is_complete_after_it_was_indexed(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        store.create("s", conversation("a walnut"))
        await index_session(build_test_client(store).workspace, "s", lambda _: None)
        assert indexed(store.path) == 1
        assert store.index_some("s") == 0
