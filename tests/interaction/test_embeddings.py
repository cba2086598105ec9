"""A search in which the user's own embeddings server orders what the words find, at each door; and without its help."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support import started_program
from support.mcp_client import mcp_client
from support.wire.http import Exchange, Json, serve
from support.workspace import PATIENCE, TestClient, build_test_client
from ullage import ContextManager, SearchSettings
from ullage.app.serving_mcp import ConversationTools
from ullage.model.settings import ContextSettings, Settings
from ullage.providers.registry import embed
from ullage.service.archive.search import search
from ullage.service.ports.models import SearchWait
from ullage.store import SqliteStore, open_store

# Each group of words has a place in the vectors; other words have none.
_MEANINGS = (("automobile", "car", "vehicle"), ("physician", "doctor", "medicine"), ("harbour", "port", "quay"))
# By words alone the first one is found best for the query, by meaning the second.
WORDY, MEANT = "A red, red, red wall.", "A red, red automobile, as we all think."
OTHER = "We saw a red vehicle at the harbour, we think."
SAID = (WORDY, "Yes.", MEANT, "Nice.", OTHER)
QUERY = "red car"
ALONE = "Found by words alone, without embeddings: "


class EmbeddingServer:
    """Keeps every request. `status` refuses them, `held` holds answers back until it is set, and `change` replaces an
    answer's vectors."""

    def __init__(self) -> None:
        self.received: list[Json] = []
        self.keys: list[str] = []
        self.status, self.message = 200, ""
        self.size = len(_MEANINGS) + 1
        self.ready = asyncio.Event()
        self.ready.set()
        self.spoiled: Any = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address for the settings."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [body["input"] for body in self.received]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["EmbeddingServer"]:
        """Serves while the block runs."""
        async with serve(self._handle, self.port) as self.port:
            yield self

    async def _handle(self, exchange: Exchange) -> None:
        assert exchange.path == "/v1/embeddings", exchange.path
        self.received.append(exchange.body)
        self.keys.append(exchange.headers.get("authorization", ""))
        await self.ready.wait()
        if self.status != 200:
            error = {"message": self.message, "type": "error", "code": "insufficient_quota"}
            await exchange.answer(self.status, {"error": error})
            return
        vectors = [self._vector(text) for text in exchange.body["input"]]
        if self.spoiled is not None:
            vectors = self.spoiled
        # In reverse: only `index` says which text a vector is of.
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
        answer = {"object": "list", "model": exchange.body["model"], "data": data[::-1]}
        await exchange.answer(200, {**answer, "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    def _vector(self, text: str) -> Sequence[float]:
        words = re.findall(r"\w+", text.lower())
        counts = [float(sum(word in group for word in words)) for group in _MEANINGS]
        return [*counts, 0.1, *[0.0] * self.size][: self.size]


pytest.importorskip("openai", reason="the embeddings server is asked by OpenAI's SDK")


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer().serving() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "sessions.db") as store:
        yield store


def settings_of(server: EmbeddingServer, model: str = "meanings", **context: Any) -> Settings:
    chosen = SearchSettings(embeddings_url=server.base_url, embeddings_model=model)
    return Settings(search=chosen, context=ContextSettings(**context))


async def talk(store: SqliteStore, settings: Settings, *said: str, **options: Any) -> tuple[TestClient, str]:
    client = build_test_client(store, settings)
    client.workspace.ports = replace(client.workspace.ports, embed=embed)
    client.workspace.search_wait = SearchWait(embeddings=PATIENCE)
    client.workspace.looks_up = ConversationTools(client.workspace)
    session_id = (await client.call("session/new", **options))["sessionId"]
    await client.say(session_id, *(said or SAID))
    return client, session_id


async def order(client: TestClient, query: str = QUERY) -> tuple[list[int], str]:
    """Returns the indexes of the messages that are found, and the note."""
    found = await search(client.workspace, None, query, 10)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    return [hit.index for hit in found.hits], found.note


async def test_the_meaning_of_messages_changes_their_order(store: SqliteStore, server: EmbeddingServer) -> None:
    client, _ = await talk(store, Settings())
    assert await order(client) == ([0, 2, 4], "")
    assert server.received == []
    client.workspace.settings = settings_of(server)
    assert await order(client) == ([2, 0, 4], "")


async def test_a_second_search_asks_for_the_vector_of_its_query_alone(
    store: SqliteStore, server: EmbeddingServer
) -> None:
    client, _ = await talk(store, settings_of(server))
    await order(client)
    assert server.texts == [[QUERY], [WORDY, MEANT, OTHER]]
    server.received.clear()
    assert await order(client, "red vehicle") == ([4, 2, 0], "")
    assert server.texts == [["red vehicle"]]
    client.workspace.settings = settings_of(server, "another")
    server.received.clear()
    await order(client)
    assert len(server.texts) == 2


async def test_no_secret_and_nothing_private_leaves_the_machine(store: SqliteStore, server: EmbeddingServer) -> None:
    token = "ghp_" + "a8Kd03mZq7Rt5Lw1Xc9Vb2Nf6Hj4Ps0Yu3Ei"
    said = (f"a red car, the token is {token}", "the red Zanzibar car", "the red car of Quetzal")
    client, _ = await talk(
        store, settings_of(server, private_patterns=("Zanzibar",)), *said, context={"privatePatterns": ["Quetzal"]}
    )
    await order(client, f"red car Zanzibar {token}")
    sent = json.dumps(server.received)
    assert "red car" in sent
    for hidden in (token, "Zanzibar", "Quetzal"):
        assert hidden not in sent


async def test_the_key_is_that_of_the_environment(
    store: SqliteStore, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", "walnut-key")
    client, _ = await talk(store, settings_of(server))
    await order(client)
    own = replace(client.workspace.settings.search, embeddings_key_env="MY_KEY")
    client.workspace.settings = replace(client.workspace.settings, search=own)
    await order(client)
    assert [server.keys[0], server.keys[-1]] == ["Bearer none", "Bearer walnut-key"]


def refuse(server: EmbeddingServer) -> None:
    server.status, server.message = 429, "You exceeded your current quota."


def give_too_few(server: EmbeddingServer) -> None:
    server.spoiled = []


def give_no_numbers(server: EmbeddingServer) -> None:
    server.spoiled = [[float("nan")] * 4]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (refuse, "You exceeded your current quota."),
        (give_too_few, "the embeddings server: it gave 0 vectors for 1 texts."),
        (
            give_no_numbers,
            "the embeddings server: its vectors have numbers that are not finite.",
        ),
    ],
)
async def test_without_vectors_the_words_decide_and_a_sentence_says_why(
    store: SqliteStore, server: EmbeddingServer, spoil: Callable[[EmbeddingServer], None], why: str
) -> None:
    client, session_id = await talk(store, settings_of(server))
    spoil(server)
    indexes, note = await order(client)
    assert (indexes, note.startswith(ALONE), note.endswith(why)) == ([0, 2, 4], True, True)
    result = await client.call("context/search", query=QUERY, sessionId=session_id)
    assert ([hit["index"] for hit in result["hits"]], result["note"]) == ([0, 2, 4], note)
    asked = await client.call("context/lookUp", sessionId=session_id, tool="search", arguments={"query": QUERY})
    assert note in asked["text"]


async def test_a_server_that_is_not_there_leaves_the_order_of_words(store: SqliteStore) -> None:
    server = EmbeddingServer()
    async with server.serving():
        pass
    client, _ = await talk(store, settings_of(server))
    indexes, note = await order(client)
    assert indexes == [0, 2, 4]
    assert note.startswith(f"{ALONE}the embeddings server at {server.base_url}")


async def test_vectors_of_another_length_are_made_again(store: SqliteStore, server: EmbeddingServer) -> None:
    client, _ = await talk(store, settings_of(server))
    await order(client)
    server.size += 3
    server.received.clear()
    assert await order(client) == ([2, 0, 4], "")
    assert [len(texts) for texts in server.texts] == [1, 3]


async def test_what_a_slow_server_makes_after_a_search_serves_the_next(
    store: SqliteStore, server: EmbeddingServer
) -> None:
    client, _ = await talk(store, settings_of(server))
    client.workspace.search_wait = SearchWait(embeddings=0.01)
    server.ready.clear()
    indexes, note = await order(client)
    assert (indexes, note) == ([0, 2, 4], f"{ALONE}the embeddings server takes long; a later search may have them.")
    assert (await order(client))[1] == f"{ALONE}the embeddings server still works on an earlier search."
    server.ready.set()
    work = client.workspace.embedding
    assert work is not None
    await asyncio.wait_for(work, PATIENCE)
    server.received.clear()
    client.workspace.search_wait = SearchWait(embeddings=PATIENCE)
    assert await order(client) == ([2, 0, 4], "")
    assert server.texts == [[QUERY]]


async def test_many_passages_are_asked_for_in_bounded_batches(store: SqliteStore, server: EmbeddingServer) -> None:
    client, _ = await talk(store, settings_of(server), *(f"a red car with number {number}" for number in range(120)))
    assert len((await order(client))[0]) == 10
    assert [len(texts) for texts in server.texts] == [1, 32, 18]


async def test_vectors_go_with_their_session(store: SqliteStore, server: EmbeddingServer) -> None:
    client, session_id = await talk(store, settings_of(server))
    await order(client)
    model = f"meanings {server.base_url}"
    ids = [passage.id for passage in store.find_passages(QUERY)]
    assert len(store.load_vectors(model, ids)) == 3
    await client.call("session/delete", sessionId=session_id)
    assert store.load_vectors(model, ids) == {}


async def test_a_program_names_its_server(tmp_path: Path, server: EmbeddingServer) -> None:
    def use() -> tuple[list[int], str, str]:
        chosen = SearchSettings(embeddings_url=server.base_url, embeddings_model="meanings")
        with ContextManager("gpt-4o", store=tmp_path / "c.db", search=chosen) as context:
            context.add_message(*({"role": "user", "content": text} for text in SAID))
            until = time.monotonic() + PATIENCE
            # On a busy machine the first search does not wait for the vectors.
            while (found := context.search(QUERY)).note and time.monotonic() < until:
                pass
            server.status = 500
            return [hit.index for hit in found], found.note, context.search(QUERY).note

    indexes, note, failed = await asyncio.to_thread(use)
    assert (indexes, note) == ([2, 0, 4], "")
    assert failed.startswith(ALONE)


async def test_the_command_line_and_the_mcp_server_take_an_address_and_a_model(
    tmp_path: Path, store: SqliteStore, server: EmbeddingServer
) -> None:
    _, session_id = await talk(store, Settings())
    given = ("--embeddings", server.base_url, "meanings")

    async def run(*arguments: str) -> str:
        program = await asyncio.create_subprocess_exec(
            *started_program.stand_in(*arguments, "--store", str(store.path), *given),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
        return out.decode()

    report = json.loads(await run("search", QUERY, "--json"))
    assert ([hit["number"] for hit in report["hits"]], report["note"]) == ([3, 1, 5], "")
    async with mcp_client(tmp_path, tmp_path, "--session", session_id, *given) as client:
        async with asyncio.timeout(PATIENCE):
            # On a busy machine the first search does not wait for the vectors.
            while ALONE in (text := (await client.call("search", query=QUERY))[0]):
                pass
    assert text.index("#3 ") < text.index("#1 ") < text.index("#5 ")
    server.status = 500
    assert ALONE in await run("search", QUERY)
