"""A session is the same however it is opened: live, from a snapshot, or folded from its whole log."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.fill import prompt, reply, start
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.model.errors import Conflict, MessageNotFound
from ullage.service.compact.by_hand import ManualRequest, compact_by_hand

ACTIONS = ("exchange", "report", "compact", "undo", "go back", "pin", "tools", "configure", "model", "snapshot")
# The first two have the same tokenizer, the third has another one.
MODELS = (SMALL_MODEL, LARGE_MODEL, "gpt-4")
TOOL = {"name": "run", "description": "Runs a command.", "input_schema": {"type": "object"}}


async def act(client: TestClient, session_id: str, action: str, number: int) -> None:
    """Makes one step of a session's life. A step that its state does not allow is refused and changes nothing."""
    client.clock.advance(seconds=60)
    named = {"sessionId": session_id}
    match action:
        case "exchange":
            await client.say(session_id, prompt(number), reply(number))
        case "report":
            used = (await client.call("context/get", **named))["used"]
            usage = {"input_tokens": used + 40 * number, "output_tokens": 12 * number}
            await client.say(session_id, prompt(number), "Yes.", usage=usage)
        case "go back":
            await client.call("context/restore", **named, timestamp=client.clock.now() - 150_000)
        case "pin":
            await client.call("context/pin", **named, messageId=f"m_{number}")
        case "tools":
            await client.call("session/append", **named, tools=[TOOL] * (number % 3))
        case "configure":
            mode = ("summarize", "smart")[number % 2]
            await client.call("session/configure", **named, context={"mode": mode, "reserve": 500 * (1 + number % 4)})
        case "model":
            await client.call("session/append", **named, messages=[], model=MODELS[number % 3])
        case "snapshot":
            client.workspace.open(session_id).keep_snapshot()
        case _:
            await client.call(f"context/{action}", **named)


async def state(client: TestClient, session_id: str) -> Any:
    names = ("context/get", "context/messages", "context/history")
    return [await client.call(name, sessionId=session_id) for name in names]


async def live(actions: Sequence[str]) -> None:
    client = build_test_client()
    session_id = await start(client)
    for number, action in enumerate(actions):
        with suppress(Conflict, MessageNotFound):
            await act(client, session_id, action, number)
        await client.entries(session_id)
    expected = await state(client, session_id)
    store = client.workspace.ports.store
    assert await state(build_test_client(store=store), session_id) == expected
    store.drop_snapshot(session_id)
    assert await state(build_test_client(store=store), session_id) == expected


@settings(max_examples=100, deadline=None)
@example(["exchange", "exchange", "report", "compact", "exchange", "exchange", "report", "undo", "report", "exchange"])
@given(st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=24))
def test_a_session_is_the_same_live_from_a_snapshot_and_from_its_log(actions: list[str]) -> None:
    asyncio.run(live(actions))


async def test_a_session_with_half_a_surrogate_pair_is_compacted_and_opened_again() -> None:
    client = build_test_client()
    session_id = await start(client)
    await client.say(session_id, "broken \ud800 pair " * 50, *(reply(n) for n in range(8)))
    await compact_by_hand(client.workspace.open(session_id), ManualRequest())
    session = client.workspace.open(session_id)
    again = build_test_client(store=client.workspace.ports.store)
    assert again.workspace.open(session_id).transcript.view == session.transcript.view
