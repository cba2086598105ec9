"""Searching while the index is still being made: nothing else waits, the search can be cancelled, progress is
published."""

import asyncio
from pathlib import Path
from threading import Event

import pytest

from support.memory_store import MemoryStore
from support.workspace import PATIENCE, build_test_client
from ullage.service.archive.search import search
from ullage.service.ports.world import Indexing, SearchWait
from ullage.store import open_store


class SlowToIndex(MemoryStore):
    """A store with three records to index. Each is indexed when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = Event()
        self.left = 3

    def index_some(self, session_id: str | None = None) -> int:
        assert self.allowed.wait(PATIENCE)
        self.left = max(0, self.left - 1)
        return self.left


class Watcher:
    """Keeps the published progress of indexing."""

    def __init__(self) -> None:
        self.told: list[Indexing] = []

    def indexing(self, progress: Indexing) -> None:
        self.told.append(progress)


async def test_other_work_goes_on_while_a_search_indexes() -> None:
    store = SlowToIndex()
    client = build_test_client(store)
    session_id = (await client.call("session/new"))["sessionId"]
    searching = asyncio.ensure_future(client.call("context/search", query="walnut"))
    await client.say(session_id, "a walnut")
    assert not searching.done()
    store.allowed.set()
    assert len((await searching)["hits"]) == 1


async def test_a_search_that_is_given_up_ends_with_the_step_that_runs() -> None:
    store, watcher = SlowToIndex(), Watcher()
    workspace = build_test_client(store).workspace
    workspace.indexing_listeners.append(watcher)
    store.allowed.set()
    workspace.search_wait = SearchWait(silent=0)
    searching = asyncio.ensure_future(search(workspace, None, "walnut", 10))
    while not watcher.told:
        await asyncio.sleep(0)
    store.allowed.clear()
    watcher.told[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(searching, PATIENCE)
    assert watcher.told[-1].left == 0
    store.allowed.set()


async def test_long_indexing_publishes_progress_from_its_beginning_to_its_end() -> None:
    store, watcher = SlowToIndex(), Watcher()
    workspace = build_test_client(store).workspace
    workspace.indexing_listeners.append(watcher)
    store.allowed.set()
    workspace.search_wait = SearchWait(silent=0)
    await search(workspace, None, "walnut", 10)
    assert [(progress.left, progress.total) for progress in watcher.told] == [(2, 2), (1, 2), (0, 2)]
    assert len({progress.id for progress in watcher.told}) == 1


async def test_quick_indexing_publishes_no_progress() -> None:
    store, watcher = SlowToIndex(), Watcher()
    workspace = build_test_client(store).workspace
    workspace.indexing_listeners.append(watcher)
    store.allowed.set()
    workspace.search_wait = SearchWait(silent=PATIENCE)
    await search(workspace, None, "walnut", 10)
    assert watcher.told == []


async def test_a_search_that_waits_no_longer_shows_what_is_indexed_and_says_what_is_left() -> None:
    store, watcher = SlowToIndex(), Watcher()
    store.allowed.set()
    client = build_test_client(store)
    session_id = (await client.call("session/new"))["sessionId"]
    await client.say(session_id, "a walnut")
    client.workspace.indexing_listeners.append(watcher)
    client.workspace.search_wait = SearchWait(silent=0, most=0)
    found = await search(client.workspace, None, "walnut", 10)
    assert (len(found.hits), found.unread) == (1, 2)
    assert found.note.startswith("2 stored records are not indexed yet")
    client.workspace.search_wait = SearchWait(most=None)
    whole = await search(client.workspace, None, "walnut", 10)
    assert (len(whole.hits), whole.unread, whole.note) == (1, 0, "")


async def test_searches_at_the_same_time_as_appends_find_all_that_was_there(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        client = build_test_client(store)
        session_id = (await client.call("session/new"))["sessionId"]
        await client.say(session_id, *(f"walnut number {number} " + "and more " * 300 for number in range(300)))
        searches = [asyncio.ensure_future(client.call("context/search", query="walnut", limit=100)) for _ in range(3)]
        for number in range(20):
            await client.say(session_id, f"hazel {number}")
        assert [len((await one)["hits"]) for one in searches] == [100] * 3
        assert len((await client.call("context/search", query="hazel", limit=100))["hits"]) == 20
