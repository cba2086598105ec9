"""Appends that arrive while others are still running."""

import asyncio

from support.workspace import LARGE_MODEL, build_test_client

# Large enough to be counted in a thread, so that the event loop can run the next request.
HUGE = "a line of output that is long enough\n" * 8_000


async def test_appends_of_a_session_keep_their_order_however_long_one_takes() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    texts = [HUGE, "second", HUGE + "3", "fourth"]
    await asyncio.gather(*(client.say(session_id, text) for text in texts))
    entries = await client.entries(session_id, scope="transcript")
    assert [entry["message"]["content"][0]["text"] for entry in entries] == texts


async def test_a_session_answers_while_a_large_message_is_counted() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    appending = asyncio.create_task(client.say(session_id, HUGE))
    await asyncio.sleep(0)
    got = await client.call("context/get", sessionId=session_id)
    assert not appending.done()
    assert got["used"] < 100
    await appending


async def test_an_edit_taken_back_while_a_message_is_counted_stays_taken_back() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    await client.say(session_id, *(f"message {number} " * 50 for number in range(12)))
    await client.call("context/compact", sessionId=session_id)
    appending = asyncio.create_task(client.say(session_id, HUGE))
    await asyncio.sleep(0)
    await client.call("context/undo", sessionId=session_id)
    await appending
    entries = await client.entries(session_id)
    assert len(entries) == 13
    assert entries[-1]["message"]["content"][0]["text"] == HUGE
