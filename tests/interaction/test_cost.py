"""The cost of a session is given if every price is known, and is the same after a restart. A fork has its parent's
requests, which are paid once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.build import assistant, user
from support.fill import fill
from support.memory_store import MemoryStore
from support.summaries import GOOD, Listening, say, says, script
from support.workspace import LARGE_MODEL, PATIENCE, SMALL_MODEL, CountingIds, TestClient, build_test_client, play
from ullage.app.compose import open_workspace
from ullage.cli.commands.cost import read_folder_cost
from ullage.model.events import SessionCreated
from ullage.model.settings import Settings, SummarySettings
from ullage.model.usage import Usage
from ullage.service.sessions import append, fork_session, new_session

USAGE = {"input_tokens": 1_000, "cache_read_input_tokens": 2_000, "output_tokens": 100}
# Dollars: 1,000 tokens at 2 dollars a million, 2,000 at half a dollar, 100 at 10 dollars.
ONCE = 0.004


async def start(client: TestClient, model: str = LARGE_MODEL) -> str:
    return (await client.call("session/new", model=model))["sessionId"]


async def cost(client: TestClient, session_id: str) -> Any:
    return (await client.call("context/get", sessionId=session_id)).get("cost")


async def test_costs_of_requests_add_up_and_are_sent_with_the_usage(client: TestClient) -> None:
    session_id = await start(client)
    assert await cost(client, session_id) is None

    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    await client.say(session_id, "Go on", "On", usage=USAGE)

    assert await cost(client, session_id) == {"amount": 2 * ONCE, "currency": "USD"}
    assert client.recorder.take()[-1]["cost"] == {"amount": 2 * ONCE, "currency": "USD"}


async def test_a_change_to_a_model_without_a_price_ends_the_sum(client: TestClient) -> None:
    session_id = await start(client)
    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    await client.say(session_id, "Go on", "On", usage=USAGE, model=SMALL_MODEL)
    assert await cost(client, session_id) is None


async def test_each_report_is_priced_by_the_model_of_its_time(client: TestClient) -> None:
    session_id = await start(client)
    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    await client.say(session_id, "A prompt to another model", model=SMALL_MODEL)
    assert await cost(client, session_id) == {"amount": ONCE, "currency": "USD"}


async def test_the_sum_survives_a_restart_with_and_without_a_snapshot() -> None:
    store, ids = MemoryStore(), CountingIds()
    client = build_test_client(store, ids=ids)
    session_id = await start(client)
    await client.say(session_id, *("word " * 300 for _ in range(8)), usage=USAGE)
    assert await cost(build_test_client(store, ids=ids), session_id) == {"amount": ONCE, "currency": "USD"}

    await client.call("context/compact", sessionId=session_id)
    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    assert store.open(session_id).snapshot is not None
    assert await cost(build_test_client(store, ids=ids), session_id) == {"amount": 2 * ONCE, "currency": "USD"}


PAID = "usage: 3000 100 cached=2000"


async def totals(client: TestClient, session_id: str) -> Any:
    return (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]["totals"]


async def test_summaries_by_a_model_are_paid_for_too_at_the_price_of_who_wrote_them() -> None:
    store, ids = MemoryStore(), CountingIds()
    settings = Settings(summary=SummarySettings(model=LARGE_MODEL))
    provider = Listening(says(PAID, say(GOOD)))
    client = build_test_client(store, settings=settings, ids=ids, live=provider.live())
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    assert await cost(client, session_id) == {"amount": ONCE, "currency": "USD"}
    assert await totals(client, session_id) == USAGE
    assert await cost(build_test_client(store, ids=ids), session_id) == {"amount": ONCE, "currency": "USD"}


async def test_a_summary_that_is_no_good_is_paid_for_too() -> None:
    bad, good = says(PAID, "say: Hm."), says(PAID, say(GOOD))
    client = build_test_client(live=Listening(script(bad, good)).live())
    session_id = await fill(client, model=LARGE_MODEL)
    await client.call("context/compact", sessionId=session_id)
    assert await cost(client, session_id) == {"amount": 2 * ONCE, "currency": "USD"}


async def test_a_session_that_is_closed_while_its_summary_is_written_stays_closed() -> None:
    provider = Listening(says(PAID, "wait: 600", say(GOOD)))
    client = build_test_client(live=provider.live())
    session_id = await fill(client, model=LARGE_MODEL)
    compacting = asyncio.create_task(client.call("context/compact", sessionId=session_id))
    await provider.until_asked()
    await client.call("session/close", sessionId=session_id)
    await asyncio.wait([compacting], timeout=PATIENCE)
    assert compacting.done()
    assert not client.workspace.is_open(session_id)


async def test_reasoning_is_counted_as_part_of_the_output() -> None:
    client = build_test_client(live=play("say: Yes.\nusage: 100 40"))
    session_id = await start(client)
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 40,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    appended = await client.say(session_id, "Think", "Thought.", usage=usage)
    assert appended["usage"]["_meta"]["ullage"]["totals"] == {
        "input_tokens": 100,
        "output_tokens": 40,
        "reasoning_tokens": 30,
    }


async def test_a_fork_costs_only_what_it_has_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    store = tmp_path / "s.db"
    with open_workspace(store, Settings(model="gpt-4o")) as workspace:
        session = new_session(workspace, SessionCreated(cwd="/project", model="gpt-4o"))
        await append(session, [user("m1"), assistant("m2")], Usage(input_tokens=1_000, output_tokens=10))
        fork = fork_session(workspace, session, None, "")
        await append(fork, [user("m3"), assistant("m4")], Usage(input_tokens=2_000, output_tokens=20))
        cost = read_folder_cost(workspace, store, None, lambda _done, _of: None)
    asked = sorted(one.tokens for own in cost.conversations for one in own.requests)
    assert asked == [1_010, 2_020]
