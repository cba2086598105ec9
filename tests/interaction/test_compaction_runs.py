"""A compaction as a client sees it: the order of its updates, and the requests that may run at the same time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.fill import exchange, fill, fill_until_compacted, start
from support.steps import python_steps, sqlite_steps
from support.workspace import PATIENCE, PacedSummarizer, TestClient, build_test_client
from ullage.model.errors import ProviderError
from ullage.service.conversation.conversation import transcript_page, view_page
from ullage.store import open_store

PIECES = ("## Task\n", "Find the fault ", "in the parser.\n")


def outline(updates: list[Any]) -> list[str]:
    """Returns the updates' kinds in order, with neighbouring chunks as one."""
    words: list[str] = []
    for update in updates:
        kind = update["sessionUpdate"]
        extra = update.get("status") or update.get("_meta", {}).get("ullage", {}).get("kind", "")
        word = f"{kind} {extra}".strip()
        if word != "compaction_summary_chunk" or words[-1:] != [word]:
            words.append(word)
    return words


async def begin(client: TestClient, summarizer: PacedSummarizer) -> str:
    """Makes a session whose automatic compaction has requested a summary and waits for it."""
    session_id = await fill(client, exchanges=9)
    await asyncio.wait_for(summarizer.started.wait(), PATIENCE)
    client.recorder.take()
    return session_id


async def test_an_automatic_compaction_publishes_its_steps_in_order(client: TestClient) -> None:
    session_id = await fill(client, exchanges=8)
    await exchange(client, session_id, 8)
    await client.entries(session_id)
    updates = client.recorder.take()
    assert outline(updates) == [
        "usage_update",
        "notice auto_compacting",
        "compaction_update in_progress",
        "compaction_summary_chunk",
        "compaction_update completed",
        "usage_update",
        "notice compaction_complete",
    ]
    assert len({update["compactionId"] for update in updates if "compactionId" in update}) == 1
    before, after = [update for update in updates if "used" in update]
    assert after["used"] <= 3_072 < before["used"]


async def test_a_compaction_that_finds_nothing_to_archive_is_not_said_to_begin(client: TestClient) -> None:
    session_id = await start(client)
    # What the client does not show fills the window, and the messages are the first and the newest.
    await client.say(session_id, "Hello", "Hello! How can I help?", usage={"input_tokens": 5_900, "output_tokens": 20})
    await client.entries(session_id)
    assert "notice auto_compacting" not in outline(client.recorder.take())
    for number in range(3):
        await client.say(
            session_id, f"And {number}?", "Yes.", usage={"input_tokens": 5_950 + number, "output_tokens": 2}
        )
        await client.entries(session_id)
    assert "notice auto_compacting" not in outline(client.recorder.take())


async def test_a_fork_that_is_due_is_compacted_when_its_user_goes_on(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    await client.call("context/undo", sessionId=session_id)
    client.recorder.take()
    fork = await client.call("session/fork", sessionId=session_id)
    assert (fork["usage"]["_meta"]["ullage"]["level"], fork["usage"]["_meta"]["ullage"]["managedBy"]) == (
        "critical",
        "ullage",
    )
    await client.entries(session_id)
    edits = (await client.call("context/history", sessionId=fork["sessionId"]))["edits"]
    assert all(edit["reverted"] for edit in edits)
    assert outline(client.recorder.take()) == ["usage_update", "notice compaction_due"]
    await exchange(client, fork["sessionId"], 9)
    await client.entries(fork["sessionId"])
    assert "compaction_update completed" in outline(client.recorder.take())


async def test_asking_for_messages_waits_for_the_run_and_gives_a_context_under_the_threshold() -> None:
    summarizer = PacedSummarizer(PIECES)
    client = build_test_client(summarizer=summarizer)
    session_id = await begin(client, summarizer)
    asked = asyncio.create_task(client.entries(session_id))
    await asyncio.sleep(0)
    assert not asked.done()
    summarizer.release()
    entries = await asyncio.wait_for(asked, PATIENCE)
    assert sum(entry["tokens"] for entry in entries) < 3_072
    assert [entry["inserted"] for entry in entries].count(True) == 1


async def test_a_cancelled_run_leaves_the_context_as_it_was() -> None:
    summarizer = PacedSummarizer(PIECES)
    client = build_test_client(summarizer=summarizer)
    session_id = await begin(client, summarizer)
    before = await client.call("context/get", sessionId=session_id)
    summarizer.release(1)
    await client.call("session/cancel", sessionId=session_id)
    entries = await client.entries(session_id)
    assert len(entries) == 19
    assert outline(client.recorder.take())[-1] == "compaction_update cancelled"
    assert await client.call("context/get", sessionId=session_id) == before
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []


async def test_what_is_appended_while_a_summary_is_written_survives() -> None:
    summarizer = PacedSummarizer(PIECES)
    client = build_test_client(summarizer=summarizer)
    session_id = await begin(client, summarizer)
    late = await client.say(session_id, "One more thing: check the lexer too.")
    summarizer.release()
    entries = await client.entries(session_id)
    assert entries[-1]["message"]["id"] == late["messageIds"][0]
    assert len(await client.entries(session_id, "transcript")) == 21


async def test_appending_beyond_the_threshold_while_a_compaction_by_hand_runs_fails_nothing() -> None:
    summarizer = PacedSummarizer(PIECES)
    client = build_test_client(summarizer=summarizer)
    session_id = await fill(client)
    request = asyncio.create_task(client.call("context/compact", sessionId=session_id))
    await asyncio.wait_for(summarizer.started.wait(), PATIENCE)
    for number in range(7, 10):
        await exchange(client, session_id, number)
    summarizer.release()
    await asyncio.wait_for(request, PATIENCE)
    await client.entries(session_id)
    statuses = [update.get("status") for update in client.recorder.take() if "status" in update]
    assert statuses == ["in_progress", "completed"]


async def test_a_run_during_which_another_process_edits_fails_and_says_so() -> None:
    summarizer = PacedSummarizer(PIECES)
    client = build_test_client(summarizer=summarizer)
    session_id = await fill(client)
    request = asyncio.create_task(client.call("context/compact", sessionId=session_id))
    await asyncio.wait_for(summarizer.started.wait(), PATIENCE)
    other = build_test_client(store=client.workspace.ports.store, ids=client.ids)
    await other.call("context/compact", sessionId=session_id)
    summarizer.release()
    with pytest.raises(Exception, match="edited"):
        await request
    assert outline(client.recorder.take())[-1] == "compaction_update failed"
    assert await client.entries(session_id) == await other.entries(session_id)


async def test_a_failed_summary_leaves_an_asked_for_compaction_undone_and_says_why() -> None:
    summarizer = PacedSummarizer(PIECES, ProviderError("the model is overloaded; try again later"))
    client = build_test_client(summarizer=summarizer)
    session_id = await fill(client)
    before = await client.entries(session_id)
    summarizer.release()
    with pytest.raises(ProviderError):
        await client.call("context/compact", sessionId=session_id)
    failed = client.recorder.take()[-1]
    assert (failed["status"], failed["error"]) == ("failed", "the model is overloaded; try again later")
    assert await client.entries(session_id) == before


async def test_each_compaction_has_its_own_number_and_carries_the_one_before_on(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    for number in range(20, 26):
        await exchange(client, session_id, number)
        await client.entries(session_id)
    markers = [entry["message"]["content"][0] for entry in await client.entries(session_id) if entry["inserted"]]
    assert [marker["compaction_number"] for marker in markers] == [2]
    assert (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]["compactions"] == 2


async def test_the_transcript_comes_in_pages_with_its_marker_in_place(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    whole = await client.call("context/messages", sessionId=session_id, scope="transcript")
    entries = whole["entries"]
    assert [entry["inserted"] for entry in entries].count(True) == 1
    assert whole["total"] == len(entries)
    for limit in (1, 3, 7):
        paged: list[object] = []
        for offset in range(0, whole["total"] + limit, limit):
            page = await client.call(
                "context/messages", sessionId=session_id, scope="transcript", offset=offset, limit=limit
            )
            assert page["total"] == whole["total"]
            paged += page["entries"]
        assert paged == entries


SHORT, LONG = 100, 2_000
START, LENGTH = 20, 50
# Steps more or less by which a reading of the store ends, in the middle of an index or at its end.
FEW = 5


async def test_a_page_of_a_long_context_takes_the_steps_of_a_page_of_a_short_one(tmp_path: Path) -> None:
    of_view: dict[int, int] = {}
    of_transcript: dict[int, tuple[int, int]] = {}
    for size in (SHORT, LONG):
        with open_store(tmp_path / f"{size}.db") as store:
            client = build_test_client(store=store)
            created = await client.call("session/new", model="unknown-model")
            await client.say(created["sessionId"], *(f"{number}: hello" for number in range(size)))
            session = client.workspace.open(created["sessionId"])
            with python_steps() as steps:
                page = await view_page(session, START, LENGTH)
            assert (len(page.entries), page.total) == (LENGTH, size)
            of_view[size] = steps.taken
            with python_steps() as steps, sqlite_steps(store.path) as in_store:
                page = transcript_page(session, START, LENGTH)
            assert (len(page.entries), page.total) == (LENGTH, size)
            of_transcript[size] = steps.taken, in_store.taken
    assert of_view[LONG] == of_view[SHORT]
    assert all(long <= short + FEW for long, short in zip(of_transcript[LONG], of_transcript[SHORT], strict=True))
