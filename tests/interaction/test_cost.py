"""What a session has cost: told where every price is known, and the same after a restart."""

from typing import Any

from support.memory_store import MemoryStore
from support.workspace import LARGE_MODEL, SMALL_MODEL, CountingIds, TestClient, build_test_client, play

USAGE = {"input_tokens": 1_000, "cache_read_input_tokens": 2_000, "output_tokens": 100}
# 1,000 at 2 dollars a million, 2,000 at half a dollar, 100 at 10 dollars.
ONCE = 0.004


async def start(client: TestClient, model: str = LARGE_MODEL) -> str:
    return (await client.call("session/new", model=model))["sessionId"]


async def cost(client: TestClient, session_id: str) -> Any:
    return (await client.call("context/get", sessionId=session_id)).get("cost")


async def test_reports_add_up_and_are_told_with_the_usage() -> None:
    client = build_test_client()
    session_id = await start(client)
    assert await cost(client, session_id) is None

    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    await client.say(session_id, "Go on", "On", usage=USAGE)

    assert await cost(client, session_id) == {"amount": 2 * ONCE, "currency": "USD"}
    assert client.recorder.take()[-1]["cost"] == {"amount": 2 * ONCE, "currency": "USD"}


async def test_without_a_known_price_no_cost_is_told() -> None:
    client = build_test_client()
    session_id = await start(client, SMALL_MODEL)
    appended = await client.say(session_id, "Hello", "Hi", usage=USAGE)
    assert "cost" not in appended["usage"]
    assert all("cost" not in update for update in client.recorder.take())


async def test_a_change_to_a_model_without_a_price_ends_the_sum() -> None:
    client = build_test_client()
    session_id = await start(client)
    await client.say(session_id, "Hello", "Hi", usage=USAGE)
    await client.say(session_id, "Go on", "On", usage=USAGE, model=SMALL_MODEL)
    assert await cost(client, session_id) is None


async def test_each_report_is_priced_by_the_model_of_its_time() -> None:
    client = build_test_client()
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


async def test_reasoning_is_told_as_part_of_the_output() -> None:
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
