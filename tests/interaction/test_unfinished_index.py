"""While the index is unfinished, each door shows what is found so far and says what is left."""

import asyncio
from threading import Event

import pytest

from support.memory_store import MemoryStore
from support.workspace import PATIENCE, TestClient, build_test_client
from ullage.api.context_methods import find_command
from ullage.app.serving_mcp import ConversationTools
from ullage.cli.commands.search import search_to_end
from ullage.cli.commands.watch import What, Wish, make_page
from ullage.cli.drawing import UNICODE, Screen
from ullage.embed.host import SearchResults
from ullage.service.archive.search import search
from ullage.service.ports.models import SearchWait

LEFT = "1,234 stored records are not indexed yet, so results may be missing; the next search sees more."


class NeverIndexed(MemoryStore):
    """A store of which 1,234 records are always left to index, until the test says that all are."""

    def __init__(self) -> None:
        super().__init__()
        self.looked, self.complete = Event(), False

    def index_some(self, session_id: str | None = None) -> int:
        self.looked.set()
        return 0 if self.complete else 1_234


@pytest.fixture
def store() -> NeverIndexed:
    return NeverIndexed()


@pytest.fixture
def client(store: NeverIndexed) -> TestClient:
    client = build_test_client(store)
    client.workspace.looks_up = ConversationTools(client.workspace)
    client.workspace.search_wait = SearchWait(most=0)
    return client


@pytest.fixture
async def session_id(client: TestClient) -> str:
    session_id = (await client.call("session/new"))["sessionId"]
    await client.say(session_id, "a walnut", "an almond")
    return session_id


async def test_a_client_gets_what_is_found_and_the_number_of_records_left(client: TestClient, session_id: str) -> None:
    result = await client.call("context/search", query="walnut", sessionId=session_id)
    assert ([hit["index"] for hit in result["hits"]], result["unread"], result["note"]) == ([0], 1_234, LEFT)


@pytest.mark.parametrize("query", ["walnut", "zebra"])
async def test_models_are_told_with_and_without_results(client: TestClient, session_id: str, query: str) -> None:
    arguments = {"query": query}
    text = (await client.call("context/lookUp", sessionId=session_id, tool="search", arguments=arguments))["text"]
    assert LEFT in text
    assert ("> a walnut" in text) == (query == "walnut")


async def test_a_command_of_the_chat_tells_it(client: TestClient, session_id: str) -> None:
    for words in ("walnut", "zebra"):
        command = find_command([{"type": "text", "text": f"/recall {words}"}])
        assert command is not None
        assert LEFT in await command.run(client.workspace, session_id)


async def test_the_live_table_tells_it(client: TestClient, session_id: str) -> None:
    wish = Wish(session_id=session_id, what=What.HITS, query="walnut")
    screen = Screen(UNICODE, 200, 200, color=False, pager=False)
    lines = [str(line) for line in await make_page(client.workspace, wish, screen)]
    assert LEFT in lines
    assert any("walnut" in line for line in lines)


async def test_a_program_reads_it_from_the_results(client: TestClient, session_id: str, store: NeverIndexed) -> None:
    results = SearchResults(await search(client.workspace, session_id, "walnut", 10))
    assert ([hit.index for hit in results], results.unread, results.note) == ([0], 1_234, LEFT)
    store.complete = True
    results = SearchResults(await search(client.workspace, session_id, "walnut", 10))
    assert (len(results), results.unread, results.note) == (1, 0, "")


async def test_an_interrupted_search_in_a_shell_shows_what_is_found_so_far(
    client: TestClient, session_id: str, store: NeverIndexed
) -> None:
    store.looked.clear()
    searching = asyncio.ensure_future(search_to_end(client.workspace, session_id, "walnut", 10))
    assert await asyncio.to_thread(store.looked.wait, PATIENCE)
    searching.cancel()
    found = await asyncio.wait_for(searching, PATIENCE)
    assert (len(found.hits), found.note) == (1, LEFT)
