"""Undoing edits exactly, one by one or to a checkpoint, and previewing an edit."""

from typing import Any

import pytest

from support.coding_session import SYSTEM, TOOLS, reading_turn, thinking_turn
from support.fill import exchange, fill, fill_until_compacted
from support.workspace import SMALL_MODEL, TestClient, build_test_client
from ullage import get_counter
from ullage.model.errors import InvalidRequest, NothingToUndo, PreviewExpired


async def compact(client: TestClient, session_id: str) -> str:
    """Compacts by hand, one minute after the last event, and returns the edit's id."""
    client.clock.advance(seconds=60)
    return (await client.call("context/compact", sessionId=session_id))["editId"]


async def history(client: TestClient, session_id: str) -> list[Any]:
    return (await client.call("context/history", sessionId=session_id))["edits"]


async def test_undo_gives_the_context_back_exactly() -> None:
    client = build_test_client()
    session_id = await fill(client)
    before = await client.entries(session_id), await client.call("context/get", sessionId=session_id)
    await compact(client, session_id)
    assert await client.entries(session_id) != before[0]
    await client.call("context/undo", sessionId=session_id)
    assert (await client.entries(session_id), await client.call("context/get", sessionId=session_id)) == before
    with pytest.raises(NothingToUndo):
        await client.call("context/undo", sessionId=session_id)


async def test_undo_gives_the_context_back_exactly_when_reports_have_taught_about_the_model() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=2)
    for number in range(2, 6):
        used = await exchange(client, session_id, number)
        usage = {"input_tokens": int(used * 1.1) + 100, "output_tokens": 420}
        await client.say(session_id, "Go on.", "I do. " * 70, usage=usage)
    before = await client.entries(session_id), await client.call("context/get", sessionId=session_id)
    await compact(client, session_id)
    await client.call("context/undo", sessionId=session_id)
    assert (await client.entries(session_id), await client.call("context/get", sessionId=session_id)) == before


async def test_after_an_undo_reports_of_the_context_with_the_edit_say_nothing_of_it_any_more() -> None:
    client = build_test_client()
    session_id = await fill(client)
    full = client.workspace.open(session_id).used
    await compact(client, session_id)
    said = await client.say(session_id, "Hello", "Hi", usage={"input_tokens": 1_100, "output_tokens": 10})
    assert said["usage"]["used"] == 1_110

    undone = await client.call("context/undo", sessionId=session_id)

    assert undone["usage"]["used"] > full
    assert undone["usage"]["_meta"]["ullage"]["totals"]["input_tokens"] == 1_100
    history = await client.call("context/history", sessionId=session_id)
    await client.call("context/restore", sessionId=session_id, editId=history["edits"][0]["id"])
    assert (await client.call("context/get", sessionId=session_id))["used"] == 1_110


async def test_undo_takes_back_all_that_was_done_at_once() -> None:
    client = build_test_client()
    new = await client.call("session/new", model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    for number in range(3):
        await client.call("session/append", sessionId=session_id, messages=thinking_turn(number))
    before = await client.entries(session_id)
    await compact(client, session_id)
    assert [edit["kind"] for edit in await history(client, session_id)] == ["shorten", "compaction"]
    undone = await client.call("context/undo", sessionId=session_id)
    assert [edit["kind"] for edit in undone["edits"]] == ["shorten", "compaction"]
    assert await client.entries(session_id) == before


async def test_an_edit_by_name_is_undone_and_later_ones_stay() -> None:
    client = build_test_client()
    session_id = await fill(client)
    first = await compact(client, session_id)
    for number in range(7, 10):
        await exchange(client, session_id, number)
    second = await compact(client, session_id)
    reverted = await client.call("context/undo", sessionId=session_id, editId=first)
    assert first in [edit["id"] for edit in reverted["edits"]]
    standing = [edit["id"] for edit in await history(client, session_id) if not edit.get("reverted")]
    assert second in standing
    assert first not in standing


async def test_restore_by_edit_takes_back_what_came_after_it() -> None:
    client = build_test_client()
    session_id = await fill(client)
    first = await compact(client, session_id)
    before = await client.entries(session_id)
    await compact(client, session_id)
    await client.call("context/restore", sessionId=session_id, editId=first)
    assert await client.entries(session_id) == before


async def test_restore_by_time_takes_back_what_came_after_it() -> None:
    client = build_test_client()
    session_id = await fill(client)
    before = await client.entries(session_id)
    checkpoint = client.clock.now()
    await compact(client, session_id)
    await compact(client, session_id)
    restored = await client.call("context/restore", sessionId=session_id, timestamp=checkpoint)
    assert {edit["kind"] for edit in restored["edits"]} >= {"compaction"}
    assert await client.entries(session_id) == before
    again = await client.call("context/restore", sessionId=session_id, timestamp=checkpoint)
    assert again["edits"] == []


async def test_everything_ever_said_is_still_listed_after_compactions() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    listed = await client.entries(session_id, "transcript")
    assert [entry["index"] for entry in listed if not entry["inserted"]] == list(range(19))
    (marker,) = [position for position, entry in enumerate(listed) if entry["inserted"]]
    assert all(entry["archived"] for entry in listed[2:marker])
    assert not any(entry["archived"] for entry in listed[marker:])


async def test_a_preview_that_is_accepted_later_is_dated_when_it_is_accepted() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=6)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    client.clock.advance(seconds=600)
    now = client.clock.now()
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    (edit,) = (await client.call("context/history", sessionId=session_id))["edits"]
    markers = [entry for entry in await client.entries(session_id) if entry["inserted"]]
    assert edit["timestamp"] == now
    assert [marker["message"]["content"][0]["timestamp"] for marker in markers] == [now]


async def test_a_preview_changes_nothing_and_its_commit_does_what_it_showed() -> None:
    client = build_test_client()
    session_id = await fill(client)
    before = await client.entries(session_id)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    assert await client.entries(session_id) == before
    assert client.recorder.take() == []
    committed = await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    shown = ("summary", "ledger", "messagesArchived", "archived", "contextSizeBefore", "contextSizeAfter")
    assert len(committed["archived"]) == committed["messagesArchived"] > 0
    assert {key: committed[key] for key in shown} == {key: preview[key] for key in shown}
    kept = {entry["message"]["id"] for entry in await client.entries(session_id)}
    assert kept.isdisjoint(entry["message"]["id"] for entry in preview["archived"])


async def test_the_model_is_sent_the_summary_that_the_user_edited() -> None:
    client = build_test_client()
    session_id = await fill(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    words = "The parser is fine; the lexer is not."
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"], summary=words)
    (marker,) = [entry["message"]["content"][0] for entry in await client.entries(session_id) if entry["inserted"]]
    assert (marker["summary"], marker["summarizer"]) == (words, "edited")
    asked = await client.call("context/messages", sessionId=session_id, provider="openai")
    assert any(words in str(message["content"]) for message in asked["request"]["messages"])


async def test_a_preview_is_still_known_after_an_undo_but_outdated_by_it() -> None:
    client = build_test_client()
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    await client.call("context/undo", sessionId=session_id)
    previews = client.workspace.open(session_id).guards.previews
    assert list(previews) == [preview["previewId"]]
    with pytest.raises(PreviewExpired, match="was edited since this compaction was planned"):
        await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])


async def test_a_preview_outlives_appended_messages() -> None:
    client = build_test_client()
    session_id = await fill(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    late = await client.say(session_id, "One more thing: check the lexer too.")
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    assert (await client.entries(session_id))[-1]["message"]["id"] == late["messageIds"][0]


async def test_a_preview_whose_edited_summary_is_too_long_waits_for_a_shorter_one() -> None:
    client = build_test_client()
    session_id = await fill(client)
    before = await client.entries(session_id)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    ids = {"sessionId": session_id, "previewId": preview["previewId"]}
    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"tokens more than what it replaces; shorten it"):
            await client.call("context/commit", **ids, summary="far too many words " * 4_000)
        assert await client.entries(session_id) == before
    committed = await client.call("context/commit", **ids, summary="They looked at the parser.")
    assert committed["summary"] == "They looked at the parser."
    with pytest.raises(PreviewExpired):
        await client.call("context/commit", **ids)


async def test_a_preview_expires_with_the_next_edit() -> None:
    client = build_test_client()
    session_id = await fill(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    await compact(client, session_id)
    before = await client.entries(session_id)
    with pytest.raises(PreviewExpired):
        await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    assert await client.entries(session_id) == before


async def test_clearing_old_tool_results_comes_before_a_compaction_and_is_undone_like_one() -> None:
    client = build_test_client()
    new = await client.call("session/new", model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    for number in range(9):
        await client.call("session/append", sessionId=session_id, messages=reading_turn(number))
    await client.entries(session_id)
    assert [edit["kind"] for edit in await history(client, session_id)] == ["clear_tool_uses"]
    notices = [update for update in client.recorder.take() if "severity" in update]
    assert notices[-1]["_meta"]["ullage"]["kind"] == "context_cleared"
    undone = await client.call("context/undo", sessionId=session_id, editId=notices[-1]["_meta"]["ullage"]["editId"])
    assert undone["usage"]["used"] > 5_529


async def test_what_is_handed_out_fits_although_an_undo_brought_back_too_much() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model=SMALL_MODEL))["sessionId"]
    for number in range(60):
        await client.say(session_id, f"Question {number}: " + "why " * 150, f"Answer {number}: " + "because " * 150)
    # Waits for the automatic run of the last message.
    await client.entries(session_id)
    while (await client.call("context/get", sessionId=session_id))["used"] <= 8_192:
        await client.call("context/undo", sessionId=session_id)
    usage = await client.call("context/get", sessionId=session_id)
    usable = usage["_meta"]["ullage"]["usable"]
    log = await history(client, session_id)

    listed = await client.entries(session_id)
    given = await client.call("context/messages", sessionId=session_id, provider="openai")
    assert sum(entry["tokens"] for entry in listed) <= usable
    assert get_counter(SMALL_MODEL).count_messages(given["request"]["messages"]) <= usable
    assert "Answer 59" in str(given["request"])
    assert (await client.call("context/get", sessionId=session_id))["used"] == usage["used"], "the undo stays"
    assert await history(client, session_id) == log, "and nothing is recorded"
