"""Known faults of context managers: the figure, the time of the warning, and the state after a compaction."""

from typing import Any

import pytest

from support.coding_session import SYSTEM, TOOLS, call, result, user
from support.fill import exchange, fill, fill_until_compacted, start
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.model.errors import NothingToCompact
from ullage.model.events import AutoCompacting, CompactionComplete, ContextEvent, ContextWarning
from ullage.model.settings import ContextSettings, ModelSettings, Settings

# Warns at 4,915 tokens and compacts so late that nothing but a warning happens.
WARNS_ONLY = Settings(context=ContextSettings(compact_at=0.99, clear_at=0.98))


async def get(client: TestClient, session_id: str) -> Any:
    return await client.call("context/get", sessionId=session_id)


def facts(usage: Any) -> Any:
    return usage["_meta"]["ullage"]


def warned(client: TestClient) -> int:
    """Returns the number of warnings since the last call."""
    return [update.get("severity") for update in client.recorder.take()].count("warning")


async def report(client: TestClient, session_id: str, used: int) -> None:
    """Reports an answer whose request and output took `used` tokens, most of them read from the provider's cache."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": used - 210,
        "cache_creation_input_tokens": 150,
        "output_tokens": 50,
    }
    await client.say(session_id, "And?", "So.", usage=usage)


async def reread(client: TestClient, session_id: str, *messages: Any) -> None:
    await client.call("session/append", sessionId=session_id, messages=list(messages))


async def test_the_size_of_a_context_is_its_last_usage_with_the_cache_counted_in() -> None:
    client = build_test_client()
    session_id = await start(client)
    await report(client, session_id, 3_000)
    usage = await get(client, session_id)
    assert (usage["used"], facts(usage)["source"]) == (3_000, "reported")
    await report(client, session_id, 4_000)
    usage = await get(client, session_id)
    # The figure is what is in the context, not all tokens that were spent.
    assert usage["used"] == 4_000
    assert facts(usage)["totals"]["cache_read_input_tokens"] == 3_790 + 2_790


async def test_with_a_known_limit_the_thresholds_are_shares_of_what_is_usable() -> None:
    client = build_test_client()
    session_id = await start(client)
    known = facts(await get(client, session_id))
    assert (known["usable"], known["warnAt"], known["compactAt"]) == (6_144, 4_915, 5_529)
    await report(client, session_id, 4_914)
    assert warned(client) == 0
    await report(client, session_id, 4_915)
    assert warned(client) == 1


async def test_without_a_known_limit_nothing_is_warned_of_until_one_is_given() -> None:
    client = build_test_client()
    session_id = await start(client, "homemade-model")
    await report(client, session_id, 1_000_000)
    usage = await get(client, session_id)
    assert (usage["size"], facts(usage)["level"], warned(client)) == (None, "off", 0)
    given = build_test_client(settings=Settings(models={"homemade-model": ModelSettings(window=8_192)}))
    session_id = await start(given, "homemade-model")
    await report(given, session_id, 5_000)
    assert warned(given) == 1


async def test_compactions_are_counted_and_an_undo_takes_one_off() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    assert facts(await get(client, session_id))["compactions"] == 1
    for number in range(20, 26):
        await exchange(client, session_id, number)
        await client.entries(session_id)
    assert facts(await get(client, session_id))["compactions"] == 2
    await client.call("context/undo", sessionId=session_id)
    assert facts(await get(client, session_id))["compactions"] == 1


async def test_after_a_compaction_the_active_messages_are_what_was_kept_and_all_are_still_there() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    known = facts(await get(client, session_id))
    context = await client.entries(session_id)
    assert known["messagesActive"] == sum(not entry["inserted"] for entry in context) < 19
    assert known["messagesActive"] + known["messagesArchived"] == 19
    everything = [entry for entry in await client.entries(session_id, "transcript") if not entry["inserted"]]
    assert sum(entry["archived"] for entry in everything) == known["messagesArchived"]


async def test_the_whole_way_from_the_first_message_to_the_compaction_and_back() -> None:
    client = build_test_client()
    told: list[ContextEvent] = []
    for kind in (ContextWarning, AutoCompacting, CompactionComplete):
        client.workspace.bus.subscribe(kind, told.append)
    session_id = await fill_until_compacted(client)
    assert [type(event) for event in told] == [ContextWarning, AutoCompacting, CompactionComplete]
    assert {event.session_id for event in told} == {session_id}
    done = told[-1]
    assert isinstance(done, CompactionComplete)
    assert (await get(client, session_id))["used"] <= 3_072
    await client.call("context/undo", sessionId=session_id, editId=done.edit.id)
    assert len(await client.entries(session_id)) == 19


async def test_several_compactions_in_one_session_leave_one_marker_and_every_message() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    for number in range(20, 44):
        await exchange(client, session_id, number)
        await client.entries(session_id)
    known = facts(await get(client, session_id))
    assert known["compactions"] >= 4
    assert [entry["inserted"] for entry in await client.entries(session_id)].count(True) == 1
    everything = [entry for entry in await client.entries(session_id, "transcript") if not entry["inserted"]]
    assert [entry["index"] for entry in everything] == list(range(19 + 48))


async def test_a_session_written_out_and_read_in_again_is_the_same_with_its_history() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    client.clock.advance(seconds=60)
    await client.call("context/compact", sessionId=session_id)
    await client.call("context/undo", sessionId=session_id)
    text = (await client.call("session/export", sessionId=session_id))["text"]
    other = build_test_client()
    copy = (await other.call("session/import", text=text))["session"]["sessionId"]
    assert await other.entries(copy) == await client.entries(session_id)
    assert await other.entries(copy, "transcript") == await client.entries(session_id, "transcript")
    (one, another) = [
        (await c.call("context/history", sessionId=s))["edits"] for c, s in ((client, session_id), (other, copy))
    ]
    assert [edit | {"position": 0} for edit in one] == [edit | {"position": 0} for edit in another]


async def test_a_file_shown_by_a_read_a_write_and_a_mention_is_kept_once() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(clear_at_least=0)))
    new = await client.call("session/new", model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    text = "\n".join(f"line {number} of the file says something of its own" for number in range(90))
    written = f'Saved.\n<final_file_content path="app.py">\n{text}\n</final_file_content>'
    await reread(client, session_id, user("Look."), call("c1", "read_file", path="app.py"), result("c1", text))
    await reread(client, session_id, call("c2", "write_to_file", path="app.py"), result("c2", written))
    await reread(client, session_id, user(f'Mind <file_content path="app.py">\n{text}\n</file_content> please.'))
    # The user's newest message stays as it is.
    await reread(client, session_id, user("Look again."), call("c3", "read_file", path="app.py"), result("c3", text))
    await client.entries(session_id)
    (edit,) = (await client.call("context/history", sessionId=session_id))["edits"]
    assert (edit["kind"], edit["messages"]) == ("duplicate_reads", 3)
    shown = [str(entry["message"]["content"]).count("line 89 of") for entry in await client.entries(session_id)]
    assert sum(shown) == shown[-1] == 1


async def test_restoring_by_timestamp_brings_back_the_context_of_that_time() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=8)
    before, then = await client.entries(session_id), client.clock.now()
    client.clock.advance(seconds=60)
    await exchange(client, session_id, 8)
    assert len(await client.entries(session_id)) < 19
    restored = await client.call("context/restore", sessionId=session_id, timestamp=then)
    assert restored["messagesBack"] > 0
    assert (await client.entries(session_id))[:17] == before


async def test_a_fork_inherits_history_settings_and_compactions_and_leaves_its_parent_alone() -> None:
    client = build_test_client()
    session_id = await fill(client)
    own = {"warnAt": 0.6}
    await client.call("session/configure", sessionId=session_id, context=own)
    await client.call("context/compact", sessionId=session_id)
    late = (await client.say(session_id, "Go on.", "I do."))["messageIds"]
    fork = (await client.call("session/fork", sessionId=session_id, messageId=late[0]))["sessionId"]
    parent_then = await client.entries(session_id)
    assert facts(await get(client, fork))["warnAt"] == facts(await get(client, session_id))["warnAt"] == 3_686
    assert facts(await get(client, fork))["compactions"] == 1
    assert [entry["message"] for entry in await client.entries(fork)] == [e["message"] for e in parent_then[:-1]]
    await client.call("context/undo", sessionId=fork)
    await client.say(fork, "Another way.", "Very well.")
    assert await client.entries(session_id) == parent_then


async def test_a_session_loaded_without_usage_is_estimated_and_looked_after() -> None:
    client = build_test_client()
    messages = [{"role": "user" if i % 2 == 0 else "assistant", "content": f"{i} " + "word " * 400} for i in range(20)]
    imported = await client.call("session/import", text=client_text(messages))
    usage = imported["session"]["usage"]
    assert (usage["size"], facts(usage)["source"]) == (None, "estimated")
    assert usage["used"] > 8_000
    session_id = imported["session"]["sessionId"]
    await client.call("session/append", sessionId=session_id, model=SMALL_MODEL)
    await client.entries(session_id)
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []
    await client.say(session_id, "Go on.", "Gladly.")
    await client.entries(session_id)
    assert (await get(client, session_id))["used"] <= 3_072


def client_text(messages: list[Any]) -> str:
    return "[" + ",".join(f'{{"role":"{m["role"]}","content":"{m["content"]}"}}' for m in messages) + "]"


async def test_very_short_sessions_are_left_alone_and_say_so() -> None:
    client = build_test_client()
    session_id = await start(client, LARGE_MODEL)
    for texts in ((), ("Hello!",), ("How are you?", "Well.")):
        if texts:
            await client.say(session_id, *texts)
        for dry_run in (False, True):
            with pytest.raises(NothingToCompact, match="Nothing to compact"):
                await client.call("context/compact", sessionId=session_id, dryRun=dry_run)
    assert warned(client) == 0
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []


async def test_rapid_completions_above_the_threshold_warn_once() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    session_id = await start(client)
    for used in (4_000, 4_950, 5_000, 5_010, 4_930, 5_050, 4_920, 5_100):
        await report(client, session_id, used)
    assert warned(client) == 1


async def test_a_compaction_resets_the_warning_even_if_one_answer_fills_the_context_again() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    session_id = await fill(client, exchanges=8)
    await client.call("context/compact", sessionId=session_id)
    client.recorder.take()
    # One append goes from half full to over the threshold, so no figure just below the threshold is ever computed.
    used = (await client.say(session_id, "Look at all of it. " * 350, "I have looked at it. " * 200))["usage"]["used"]
    assert 4_915 <= used < 6_000
    assert warned(client) == 1


async def test_a_drop_below_the_threshold_by_a_report_resets_the_warning_too() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    session_id = await start(client)
    for used in (5_000, 3_000, 5_000):
        await report(client, session_id, used)
    assert warned(client) == 2


async def test_a_warning_is_not_given_again_when_the_session_is_opened_again_or_by_another_door() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    session_id = await fill(client, exchanges=8)
    store, ids = client.workspace.ports.store, client.ids
    client.workspace.open(session_id).keep_snapshot()
    await client.call("session/close", sessionId=session_id)
    again = build_test_client(store=store, ids=ids, settings=WARNS_ONLY)
    for number, door in enumerate((client, again)):
        await door.call("session/load", sessionId=session_id)
        await door.say(session_id, f"{number}?", "Yes.")
    assert (warned(client), warned(again)) == (0, 0)
    store.drop_snapshot(session_id)
    folded = build_test_client(store=store, ids=ids, settings=WARNS_ONLY)
    await folded.say(session_id, "Still?", "Yes.")
    assert warned(folded) == 0
    # After a compaction by one process, the other process warns at the next crossing again.
    await again.call("context/compact", sessionId=session_id)
    await folded.say(session_id, "Look at all of it. " * 350, "I have looked at it. " * 200)
    assert warned(folded) == 1
    await client.say(session_id, "And you?", "Me, too.")
    assert warned(client) == 0


async def test_every_listener_gets_a_warning_once_however_many_there_are() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    heard: list[str] = []
    for name in ("first", "second"):
        client.workspace.bus.subscribe(ContextWarning, lambda _, name=name: heard.append(name))
    session_id = await start(client)
    for used in (5_000, 5_100):
        await report(client, session_id, used)
    assert heard == ["first", "second"]
