"""Undoing edits exactly, restoring any point of a session's history by any of its names, and previewing an edit."""

from datetime import UTC, datetime
from typing import Any

import pytest

from support.coding_session import SYSTEM, TOOLS, reading_turn
from support.fill import exchange, fill, fill_until_compacted
from support.workspace import SMALL_MODEL, TestClient, build_test_client
from ullage import get_counter
from ullage.model.errors import EditNotFound, InvalidRequest, MessageNotFound, PreviewExpired


async def compact(client: TestClient, session_id: str) -> str:
    """Compacts by hand, one minute after the last event, and returns the edit's id."""
    client.clock.advance(seconds=60)
    return (await client.call("context/compact", sessionId=session_id))["editId"]


async def history(client: TestClient, session_id: str) -> list[Any]:
    return (await client.call("context/history", sessionId=session_id))["edits"]


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


async def test_everything_ever_said_is_still_listed_after_compactions(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    listed = await client.entries(session_id, "transcript")
    assert [entry["index"] for entry in listed if not entry["inserted"]] == list(range(19))
    (marker,) = [position for position, entry in enumerate(listed) if entry["inserted"]]
    assert all(entry["archived"] for entry in listed[2:marker])
    assert not any(entry["archived"] for entry in listed[marker:])


async def test_a_preview_that_is_accepted_later_is_dated_when_it_is_accepted(client: TestClient) -> None:
    session_id = await fill(client, exchanges=6)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    client.clock.advance(seconds=600)
    now = client.clock.now()
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    (edit,) = (await client.call("context/history", sessionId=session_id))["edits"]
    markers = [entry for entry in await client.entries(session_id) if entry["inserted"]]
    assert edit["timestamp"] == now
    assert [marker["message"]["content"][0]["timestamp"] for marker in markers] == [now]


async def test_a_preview_changes_nothing_and_its_commit_does_what_it_showed(client: TestClient) -> None:
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


async def test_the_model_is_sent_the_summary_that_the_user_edited(client: TestClient) -> None:
    session_id = await fill(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    words = "The parser is fine; the lexer is not."
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"], summary=words)
    (marker,) = [entry["message"]["content"][0] for entry in await client.entries(session_id) if entry["inserted"]]
    assert (marker["summary"], marker["summarizer"]) == (words, "edited")
    asked = await client.call("context/messages", sessionId=session_id, provider="openai")
    assert any(words in str(message["content"]) for message in asked["request"]["messages"])


async def test_a_preview_is_still_known_after_an_undo_but_outdated_by_it(client: TestClient) -> None:
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    await client.call("context/undo", sessionId=session_id)
    previews = client.workspace.open(session_id).guards.previews
    assert list(previews) == [preview["previewId"]]
    with pytest.raises(PreviewExpired, match="was edited since this compaction was planned"):
        await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])


async def test_a_preview_whose_edited_summary_is_too_long_waits_for_a_shorter_one(client: TestClient) -> None:
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


async def test_clearing_old_tool_results_comes_before_a_compaction_and_is_undone_like_one(client: TestClient) -> None:
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


async def test_what_is_handed_out_fits_although_an_undo_brought_back_too_much(client: TestClient) -> None:
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


async def state(client: TestClient, session_id: str) -> Any:
    """Returns what a user sees of a session: its context and its figures."""
    return [await client.entries(session_id), await client.call("context/get", sessionId=session_id)]


async def compacted_twice(client: TestClient) -> tuple[str, list[str], list[Any]]:
    """Makes a session with two compactions. Returns its id, the edits' ids, and its states before, between and after
    them."""
    session_id = await fill(client)
    states = [await state(client, session_id)]
    first = await compact(client, session_id)
    for number in range(7, 10):
        await exchange(client, session_id, number)
    states.append(await state(client, session_id))
    second = await compact(client, session_id)
    states.append(await state(client, session_id))
    return session_id, [first, second], states


async def test_an_edit_taken_back_counts_again_when_a_later_checkpoint_is_restored(client: TestClient) -> None:
    session_id, edits, states = await compacted_twice(client)
    (*_, last) = await history(client, session_id)
    await client.call("context/undo", sessionId=session_id)
    await client.call("context/undo", sessionId=session_id)
    assert [edit["reverted"] for edit in await history(client, session_id)] == [True, True]
    redone = await client.call("context/restore", sessionId=session_id, position=last["position"])
    assert [edit["id"] for edit in redone["edits"]] == edits
    assert await state(client, session_id) == states[2]
    assert not any(edit.get("reverted") for edit in await history(client, session_id))


async def test_a_reverted_edit_named_as_the_checkpoint_counts_again(client: TestClient) -> None:
    session_id, edits, states = await compacted_twice(client)
    await client.call("context/undo", sessionId=session_id, editId=edits[0])
    await client.call("context/restore", sessionId=session_id, editId=edits[0])
    assert await state(client, session_id) == states[1]


async def test_taking_back_an_edit_in_the_middle_leaves_the_later_one_and_its_summary_as_they_are() -> None:
    client = build_test_client()
    session_id, edits, states = await compacted_twice(client)
    undone = await client.call("context/undo", sessionId=session_id, editId=edits[0])
    assert [edit["id"] for edit in undone["edits"]] == [edits[0]]
    # The second compaction archives the first one's messages, too, and its summary covers them.
    assert (await state(client, session_id))[0] == states[2][0]
    assert undone["messagesBack"] == 0
    both = await client.call("context/undo", sessionId=session_id, editId=edits[1])
    transcript = await client.entries(session_id, "transcript")
    # What is handed out must fit; the context itself has every message again.
    view = client.workspace.open(session_id).transcript.view
    assert [message.id for message in view] == [e["message"]["id"] for e in transcript]
    assert both["messagesBack"] > 10


async def test_a_state_kept_by_a_process_that_missed_an_undo_is_not_believed() -> None:
    ours = build_test_client()
    session_id, _, states = await compacted_twice(ours)
    theirs = build_test_client(store=ours.workspace.ports.store, ids=ours.ids)
    stale = theirs.workspace.open(session_id)
    await ours.call("context/undo", sessionId=session_id)
    stale.keep_snapshot()
    again = build_test_client(store=ours.workspace.ports.store, ids=ours.ids)
    assert await state(again, session_id) == states[1]


async def test_a_message_is_a_checkpoint_archived_or_not(client: TestClient) -> None:
    session_id, _, states = await compacted_twice(client)
    listed = [entry for entry in await client.entries(session_id, "transcript") if not entry["inserted"]]
    await client.call("context/restore", sessionId=session_id, messageId=listed[-1]["message"]["id"])
    assert await state(client, session_id) == states[1]
    await client.call("context/restore", sessionId=session_id, messageId=listed[3]["message"]["id"])
    assert not any(item.inserted for item in client.workspace.open(session_id).transcript.items)


async def test_a_marker_is_the_checkpoint_of_its_compaction(client: TestClient) -> None:
    session_id, edits, states = await compacted_twice(client)
    await client.call("context/restore", sessionId=session_id, messageId=f"{edits[0]}-marker")
    assert await state(client, session_id) == states[1]


@pytest.mark.parametrize("written", ["milliseconds", "2026-11-20T09:37:30Z", "2026-11-20T10:37:30+01:00"])
async def test_a_time_is_a_checkpoint_in_milliseconds_or_iso_8601(written: str, client: TestClient) -> None:
    session_id, _, states = await compacted_twice(client)
    # The first compaction was made at 9:38, eight minutes after the session began.
    first = (await history(client, session_id))[0]["timestamp"]
    before = datetime(2026, 11, 20, 9, 37, 30, tzinfo=UTC)
    assert before.timestamp() * 1000 < first
    timestamp = round(before.timestamp() * 1000) if written == "milliseconds" else written
    await client.call("context/restore", sessionId=session_id, timestamp=timestamp)
    assert [edit["reverted"] for edit in await history(client, session_id)] == [True, True]
    restored = await client.call("context/restore", sessionId=session_id, timestamp=first)
    # Restoring is itself a later event: from then on the first compaction is in force.
    assert [edit["id"] for edit in restored["edits"]] == [(await history(client, session_id))[0]["id"]]
    assert await state(client, session_id) == states[1]


async def test_a_checkpoint_that_is_not_there_is_refused_by_name(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    before = await state(client, session_id)
    with pytest.raises(EditNotFound, match="e_99"):
        await client.call("context/restore", sessionId=session_id, editId="e_99")
    with pytest.raises(MessageNotFound, match="m_99"):
        await client.call("context/restore", sessionId=session_id, messageId="m_99")
    with pytest.raises(InvalidRequest, match="yesterday"):
        await client.call("context/restore", sessionId=session_id, timestamp="yesterday")
    with pytest.raises(InvalidRequest, match="one of"):
        await client.call("context/restore", sessionId=session_id, position=3, timestamp=4)
    assert await state(client, session_id) == before


async def test_the_history_says_of_each_edit_what_it_did_and_what_it_saved(client: TestClient) -> None:
    session_id, edits, states = await compacted_twice(client)
    await client.call("context/undo", sessionId=session_id)
    first, second = await history(client, session_id)
    assert first["words"] == f"Compacted {first['messages']} messages"
    assert first["contextSizeBefore"] == states[0][1]["used"]
    assert first["contextSizeAfter"] == first["contextSizeBefore"] - first["tokensSaved"]
    assert (first["trigger"], first["position"] < second["position"]) == ("manual", True)
    assert "reverted" not in first
    assert (second["id"], second["reverted"], second["revertedAt"]) == (edits[1], True, client.clock.now())


async def test_a_fork_from_an_archived_message_has_no_later_edit(client: TestClient) -> None:
    session_id, _, _ = await compacted_twice(client)
    listed = [entry for entry in await client.entries(session_id, "transcript") if not entry["inserted"]]
    assert listed[4]["archived"]
    fork = await client.call("session/fork", sessionId=session_id, messageId=listed[4]["message"]["id"])
    entries = await client.entries(fork["sessionId"])
    assert [entry["message"] for entry in entries] == [entry["message"] for entry in listed[:5]]
    assert await history(client, fork["sessionId"]) == []


async def test_a_fork_inherits_the_edits_in_force_where_it_begins_whatever_became_of_them_since() -> None:
    client = build_test_client()
    session_id, edits, states = await compacted_twice(client)
    marker = f"{edits[1]}-marker"
    await client.call("context/undo", sessionId=session_id)
    fork = await client.call("session/fork", sessionId=session_id, messageId=marker)
    assert await state(client, fork["sessionId"]) == [states[2][0], states[2][1]]
    await client.call("context/undo", sessionId=fork["sessionId"])
    assert (await state(client, fork["sessionId"]))[0] == states[1][0]


async def test_a_fork_inherits_the_model_and_the_present_pins_of_its_messages(client: TestClient) -> None:
    session_id = await fill(client)
    ids = [entry["message"]["id"] for entry in await client.entries(session_id)]
    await client.call("context/pin", sessionId=session_id, messageId=ids[3])
    await client.call("context/pin", sessionId=session_id, messageId=ids[12])
    fork = await client.call("session/fork", sessionId=session_id, messageId=ids[6])
    pinned = [entry["message"]["id"] for entry in await client.entries(fork["sessionId"]) if entry["pinned"]]
    assert pinned == [ids[3]]
    assert fork["usage"]["size"] == 8_192
    await client.call("context/pin", sessionId=session_id, messageId=ids[3], pinned=False)
    later = await client.call("session/fork", sessionId=session_id)
    assert [e["message"]["id"] for e in await client.entries(later["sessionId"]) if e["pinned"]] == [ids[12]]
