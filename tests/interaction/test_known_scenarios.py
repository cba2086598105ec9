"""Known faults of context managers: the figure, the time of the warning, and the state after a compaction."""

from typing import Any

import pytest

from support.coding_session import SYSTEM, TOOLS, call, result, user
from support.fill import fill, fill_until_compacted, start
from support.workspace import LARGE_MODEL, SMALL_MODEL, Recorder, TestClient, build_test_client
from ullage.model.errors import NothingToCompact
from ullage.model.settings import ContextSettings, Settings

# Warns at 4,915 tokens and compacts so late that nothing but a warning happens.
WARNS_ONLY = Settings(context=ContextSettings(compact_at=0.99, clear_at=0.98))


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


async def test_a_session_written_out_and_read_in_again_is_the_same_with_its_history(client: TestClient) -> None:
    session_id = await fill_until_compacted(client)
    client.clock.advance(seconds=60)
    await client.call("context/compact", sessionId=session_id)
    await client.call("context/undo", sessionId=session_id)
    text = (await client.call("session/export", sessionId=session_id))["text"]
    other = build_test_client()
    imported = await other.call("session/import", text=text)
    copy = imported["session"]["sessionId"]
    assert (imported["format"], imported["unread"], imported["messages"]) == ("ullage", [], 19)
    assert imported["session"]["title"] == (await client.call("session/load", sessionId=session_id))["title"]
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


async def test_very_short_sessions_are_left_alone_and_say_so(client: TestClient) -> None:
    session_id = await start(client, LARGE_MODEL)
    for texts in ((), ("Hello!",), ("How are you?", "Well.")):
        if texts:
            await client.say(session_id, *texts)
        for dry_run in (False, True):
            with pytest.raises(NothingToCompact, match="Nothing to compact"):
                await client.call("context/compact", sessionId=session_id, dryRun=dry_run)
    assert warned(client) == 0
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []


async def test_a_compaction_resets_the_warning_even_if_one_answer_fills_the_context_again() -> None:
    client = build_test_client(settings=WARNS_ONLY)
    session_id = await fill(client, exchanges=8)
    await client.call("context/compact", sessionId=session_id)
    client.recorder.take()
    # One append goes from half full to over the threshold, so no figure just below the threshold is ever computed.
    used = (await client.say(session_id, "Look at all of it. " * 350, "I have looked at it. " * 200))["usage"]["used"]
    assert 4_915 <= used < 6_000
    assert warned(client) == 1


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
    others = [Recorder(), Recorder()]
    for other in others:
        client.workspace.bus.listen(other)
    session_id = await start(client)
    for used in (5_000, 5_100):
        await report(client, session_id, used)
    kinds = [[update.get("severity") for update in other.take()] for other in others]
    assert [kind.count("warning") for kind in kinds] == [1, 1]
