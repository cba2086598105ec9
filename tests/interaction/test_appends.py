"""Appends: those that arrive while others are still running, and those that a client should not send."""

import asyncio
from typing import Any

import pytest

from support.workspace import LARGE_MODEL, TestClient, build_test_client
from ullage.model.errors import InvalidRequest

# Large enough to be counted in a thread, so that the event loop can run the next request.
HUGE = "a line of output that is long enough\n" * 8_000


async def test_appends_of_a_session_keep_their_order_however_long_one_takes(client: TestClient) -> None:
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    texts = [HUGE, "second", HUGE + "3", "fourth"]
    await asyncio.gather(*(client.say(session_id, text) for text in texts))
    entries = await client.entries(session_id, scope="transcript")
    assert [entry["message"]["content"][0]["text"] for entry in entries] == texts


async def test_a_session_answers_while_a_large_message_is_counted(client: TestClient) -> None:
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    appending = asyncio.create_task(client.say(session_id, HUGE))
    await asyncio.sleep(0)
    got = await client.call("context/get", sessionId=session_id)
    assert not appending.done()
    assert got["used"] < 100
    await appending


async def test_an_edit_taken_back_while_a_message_is_counted_stays_taken_back(client: TestClient) -> None:
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


async def new_session(client: TestClient) -> str:
    return (await client.call("session/new", model=LARGE_MODEL))["sessionId"]


def calls(count: int) -> dict[str, Any]:
    uses: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"t{number}", "name": "Look", "input": {}} for number in range(count)
    ]
    return {"role": "assistant", "content": uses}


@pytest.mark.parametrize("absurd", [10**30, 1e308, float(2**64)])
async def test_an_absurd_usage_is_none_and_stays_out_of_the_totals(absurd: float, client: TestClient) -> None:
    session_id = await new_session(client)
    usage = {"input_tokens": absurd, "output_tokens": 3}
    answer = {"role": "assistant", "content": "Done."}
    appended = await client.call("session/append", sessionId=session_id, messages=[answer], usage=usage)
    assert appended["usage"]["used"] < 100
    assert "00000000000000" not in str(appended)


async def test_a_message_that_is_twice_in_one_append_is_kept_once(client: TestClient) -> None:
    session_id = await new_session(client)
    one = {"role": "user", "id": "a", "content": "the same"}
    appended = await client.call("session/append", sessionId=session_id, messages=[one, one])
    entries = await client.entries(session_id, scope="transcript")
    assert appended["messageIds"] == ["a", "a"]
    assert [entry["message"]["id"] for entry in entries] == ["a"]


async def test_two_messages_with_one_id_in_one_append_are_refused(client: TestClient) -> None:
    session_id = await new_session(client)
    two = [{"role": "user", "id": "a", "content": text} for text in ("one", "other")]
    with pytest.raises(InvalidRequest, match="'a' is taken"):
        await client.call("session/append", sessionId=session_id, messages=two)
    assert await client.entries(session_id, scope="transcript") == []


async def test_a_message_of_more_blocks_than_can_be_read_in_time_is_refused(client: TestClient) -> None:
    session_id = await new_session(client)
    with pytest.raises(InvalidRequest, match="at most 20,000 content blocks"):
        await client.call("session/append", sessionId=session_id, messages=[calls(20_001)])


async def test_a_tool_result_of_plain_text_is_a_text_also_next_to_blocks_of_our_own(client: TestClient) -> None:
    session_id = await new_session(client)
    result = {"type": "tool_result", "tool_use_id": "t0", "content": "it is there"}
    resource = {"type": "resource", "uri": "file:///a.txt", "text": "more"}
    messages = [calls(1), {"role": "user", "content": [result, resource]}]
    await client.call("session/append", sessionId=session_id, messages=messages)
    entries = await client.entries(session_id, scope="transcript")
    (text,) = entries[-1]["message"]["content"][0]["content"]
    assert (text["type"], text["text"]) == ("text", "it is there")


async def test_an_imported_edit_of_more_messages_than_there_are_leaves_all_listed(client: TestClient) -> None:
    session_id = await new_session(client)
    for number in range(12):
        await client.say(session_id, f"question {number} " * 60, f"answer {number} " * 60)
    await client.call("context/compact", sessionId=session_id)
    log = (await client.call("session/export", sessionId=session_id))["text"]
    listed = await client.entries(session_id, scope="transcript")
    broken = log.replace('"end":', '"end":9999')
    assert broken != log
    other = build_test_client()
    imported = await other.call("session/import", text=broken)
    entries = await other.entries(imported["session"]["sessionId"], scope="transcript")
    assert len(entries) == len(listed)
    assert entries[-1]["inserted"]
