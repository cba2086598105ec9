"""Compaction of a stretch that the user chooses: from a message on, up to a message, or between two."""

from typing import Any

import pytest

from support.coding_session import SYSTEM, TOOLS, reading_turn, user
from support.fill import fill
from support.workspace import SMALL_MODEL, TestClient, build_test_client
from ullage.model.errors import InvalidRequest, MessageNotFound, NothingToCompact, PreviewExpired


async def ids(client: TestClient, session_id: str) -> list[str]:
    return [entry["message"]["id"] for entry in await client.entries(session_id)]


async def compact(client: TestClient, session_id: str, **params: Any) -> Any:
    client.clock.advance(seconds=60)
    return await client.call("context/compact", sessionId=session_id, **params)


async def test_up_to_a_message_archives_all_before_it_and_itself(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    compacted = await compact(client, session_id, upTo=before[6])
    marker = f"{compacted['editId']}-marker"
    # The system prompt and the first user message stay before the marker.
    assert await ids(client, session_id) == [*before[:2], marker, *before[7:]]
    assert (compacted["messagesArchived"], compacted["note"]) == (5, "")


async def test_from_a_message_on_archives_it_and_all_later_ones(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    compacted = await compact(client, session_id, **{"from": before[7]})
    marker = f"{compacted['editId']}-marker"
    assert await ids(client, session_id) == [*before[:7], marker]
    late = await client.say(session_id, "And now?", "We go on.")
    assert await ids(client, session_id) == [*before[:7], marker, *late["messageIds"]]


async def test_messages_that_await_an_answer_stay_after_the_marker(client: TestClient) -> None:
    session_id = await fill(client)
    asked = (await client.say(session_id, "What about the lexer?"))["messageIds"]
    before = await ids(client, session_id)
    await compact(client, session_id, **{"from": before[7]})
    assert (await ids(client, session_id))[-1:] == asked
    assert len(await ids(client, session_id)) == 9


async def test_between_two_messages_what_is_around_them_stays(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    compacted = await compact(client, session_id, **{"from": before[5], "upTo": before[10]})
    assert await ids(client, session_id) == [*before[:5], f"{compacted['editId']}-marker", *before[11:]]
    await client.call("context/undo", sessionId=session_id)
    assert await ids(client, session_id) == before


async def test_a_cut_inside_a_tool_round_moves_to_its_edge_and_says_so(client: TestClient) -> None:
    new = await client.call("session/new", model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    for number in range(3):
        await client.call("session/append", sessionId=session_id, messages=reading_turn(number))
    entries = await client.entries(session_id)
    place = next(i for i, e in enumerate(entries) if i > 4 and e["message"]["content"][-1]["type"] == "tool_use")
    compacted = await compact(client, session_id, upTo=entries[place]["message"]["id"], dryRun=True)
    number = entries[place]["index"] + 1
    assert compacted["note"] == f"Up to message {number + 1} instead of {number}: what belongs together is not parted."
    archived = [entry["message"]["id"] for entry in compacted["archived"]]
    assert entries[place + 1]["message"]["id"] in archived
    committed = await client.call("context/commit", sessionId=session_id, previewId=compacted["previewId"])
    assert committed["note"] == compacted["note"]


async def test_a_pinned_message_inside_stays_and_follows_the_marker(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    await client.call("context/pin", sessionId=session_id, messageId=before[8])
    compacted = await compact(client, session_id, **{"from": before[6]})
    assert await ids(client, session_id) == [*before[:6], f"{compacted['editId']}-marker", before[8]]


async def test_several_previews_wait_at_once_and_one_commit_outdates_the_others(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    whole = await compact(client, session_id, dryRun=True)
    early = await compact(client, session_id, upTo=before[6], dryRun=True)
    late = await compact(client, session_id, **{"from": before[7]}, dryRun=True, focus="the lexer")
    assert await ids(client, session_id) == before
    done = await client.call("context/commit", sessionId=session_id, previewId=early["previewId"])
    assert done["messagesArchived"] == early["messagesArchived"] == len(early["archived"])
    for stale in (whole, late, early):
        with pytest.raises(PreviewExpired):
            await client.call("context/commit", sessionId=session_id, previewId=stale["previewId"])
    assert len(await ids(client, session_id)) == len(before) - 4


async def test_previews_that_are_not_committed_are_forgotten_oldest_first(client: TestClient) -> None:
    session_id = await fill(client, exchanges=4)
    first = await compact(client, session_id, dryRun=True)
    *_, last = [await compact(client, session_id, dryRun=True) for _ in range(16)]
    with pytest.raises(PreviewExpired, match="ask for a new one"):
        await client.call("context/commit", sessionId=session_id, previewId=first["previewId"])
    await client.call("context/commit", sessionId=session_id, previewId=last["previewId"])


async def test_a_later_compaction_carries_the_summaries_of_all_the_markers_it_replaces(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    for kept, words in (({"upTo": before[4]}, "The lexer lives in lexer_core.py."), ({"from": before[7]}, "")):
        preview = await compact(client, session_id, **kept, dryRun=True)
        extra = {"summary": words} if words else {"summary": "The parser lives in parser_core.py."}
        await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"], **extra)
    assert [entry["inserted"] for entry in await client.entries(session_id)].count(True) == 2
    for number in range(30, 33):
        await client.say(session_id, f"Question {number}: is it sound? " * 40, "It is sound. " * 120)
    third = await compact(client, session_id, upTo=(await ids(client, session_id))[-1])
    assert [entry["inserted"] for entry in await client.entries(session_id)].count(True) == 1
    assert "lexer_core.py" in third["summary"]
    assert "parser_core.py" in third["summary"]


async def test_a_message_that_is_not_in_the_context_is_refused(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    await compact(client, session_id, upTo=before[6])
    for message_id in (before[4], "m_999"):
        with pytest.raises(MessageNotFound, match=message_id):
            await compact(client, session_id, upTo=message_id)


async def test_a_stretch_too_small_to_summarise_is_left_alone(client: TestClient) -> None:
    session_id = await fill(client, exchanges=2)
    late = (await client.say(session_id, "Yes?", "Yes."))["messageIds"]
    before = await ids(client, session_id)
    with pytest.raises(NothingToCompact, match="as much room"):
        await compact(client, session_id, **{"from": late[0]})
    await client.call("session/append", sessionId=session_id, messages=[user("Well?")])
    with pytest.raises(NothingToCompact):
        await compact(client, session_id, **{"from": (await ids(client, session_id))[-1]})
    assert (await ids(client, session_id))[:-1] == before


async def test_a_stretch_that_ends_before_it_begins_is_refused_with_the_numbers(client: TestClient) -> None:
    session_id = await fill(client)
    before = await ids(client, session_id)
    with pytest.raises(InvalidRequest, match="begins at message #11 and ends at #7, before it"):
        await compact(client, session_id, **{"from": before[10], "upTo": before[6]})
    assert await ids(client, session_id) == before


async def test_an_archived_message_cannot_be_compacted_and_the_error_has_the_numbers_that_can() -> None:
    client = build_test_client()
    session_id = await fill(client)
    before = await ids(client, session_id)
    await compact(client, session_id, upTo=before[6])
    last = len(before)
    with pytest.raises(
        MessageNotFound, match=rf"message #5 \(m_5\) is not in the context; .*: #1 to #2, #8 to #{last}$"
    ):
        await compact(client, session_id, **{"from": before[4]})
    with pytest.raises(MessageNotFound, match="no message 'nothing' in the context"):
        await compact(client, session_id, **{"from": "nothing"})
