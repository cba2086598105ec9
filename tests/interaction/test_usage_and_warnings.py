"""The figures and warnings that a client gets while a session grows."""

import json
from typing import Any

import pytest

from support.fill import EXCHANGES_BELOW_WARNING, exchange, fill, fill_until_compacted, start
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.model.settings import ContextSettings, ModelSettings, Settings


def warnings(updates: list[Any]) -> list[str]:
    return [update["title"] for update in updates if update.get("severity") == "warning"]


def usage_of(client: TestClient) -> Any:
    """Returns the last figures that were sent."""
    return [update for update in client.recorder.take() if "used" in update][-1]


async def test_an_append_publishes_the_new_usage_and_returns_the_same_figures() -> None:
    client = build_test_client()
    session_id = await start(client)
    client.recorder.take()
    appended = await client.say(session_id, "What is a ullage?", "The room left in a cask.")
    told = usage_of(client)
    assert {key: told[key] for key in ("used", "size", "_meta")} == appended["usage"]
    assert told["size"] == 8_192
    assert told["_meta"]["ullage"]["source"] == "estimated"
    assert sum(told["_meta"]["ullage"]["breakdown"].values()) == told["used"] > 0


async def test_a_report_makes_the_figure_reported_and_what_follows_stale() -> None:
    client = build_test_client()
    session_id = await start(client)
    usage = {"input_tokens": 900, "output_tokens": 20, "cache_read_input_tokens": 100}
    reported = (await client.say(session_id, "Hello", "Hello! How can I help?", usage=usage))["usage"]
    assert (reported["_meta"]["ullage"]["source"], reported["used"]) == ("reported", 1_020)
    stale = (await client.say(session_id, "Tell me about casks."))["usage"]
    assert (stale["_meta"]["ullage"]["source"], stale["_meta"]["ullage"]["pendingMessages"]) == ("stale", 1)
    assert stale["used"] > 1_020


async def test_the_warning_comes_once_above_80_percent() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(compact_at=0.99)))
    session_id = await fill(client)
    assert (await exchange(client, session_id, 7)) > 4_915
    assert len(warnings(client.recorder.take())) == 1
    await client.say(session_id, "And now?", "The same.")
    assert warnings(client.recorder.take()) == []


async def test_after_a_compaction_the_warning_comes_again() -> None:
    client = build_test_client()
    session_id = await fill_until_compacted(client)
    given: list[Any] = []
    used = 0
    for number in range(60):
        # Steps of about 100 tokens: one exchange may lead from below the warning to the next compaction.
        said = await client.say(session_id, f"Look at line {number} again. " * 15, "I have.")
        used = said["usage"]["used"]
        given += warnings(client.recorder.take())
        if used > 5_100:
            break
    assert 5_100 < used < 5_529
    assert len(given) == 1


async def test_a_session_without_a_known_window_sends_its_figures_without_a_size_and_is_not_managed() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=30, model="homemade-model")
    await client.say(session_id, "Are you still there?")
    (told,) = client.recorder.take()
    assert told["sessionUpdate"] == "session_info_update"
    facts = told["_meta"]["ullage"]
    assert (facts["level"], facts["usable"], facts["warnAt"], facts["compactAt"]) == ("off", None, None, None)
    assert sum(facts["breakdown"].values()) > 8_192
    assert (await client.call("context/get", sessionId=session_id))["size"] is None


async def test_a_window_given_in_the_settings_turns_management_on() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=9, model="homemade-model")
    client.workspace.configure(Settings(models={"homemade-model": ModelSettings(window=8_192)}))
    await client.say(session_id, "Go on.")
    assert len(await client.entries(session_id)) < 19


@pytest.mark.parametrize("own", [False, True])
async def test_typing_a_number_compacts_nothing_and_says_that_a_compaction_is_due(own: bool) -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=EXCHANGES_BELOW_WARNING)
    before = await client.entries(session_id)
    client.recorder.take()
    tight = {"compactAt": 0.3, "warnAt": 0.25, "clearAt": 0.2}
    if own:
        await client.call("session/configure", sessionId=session_id, context=tight)
    else:
        client.workspace.configure(Settings(context=ContextSettings(compact_at=0.3, warn_at=0.25, clear_at=0.2)))
    assert await client.entries(session_id) == before
    notices = [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert [notice["_meta"]["ullage"]["kind"] for notice in notices] == ["compaction_due"]
    assert "or it is compacted with the next message" in notices[0]["title"]
    await client.say(session_id, "Go on.")
    assert len(await client.entries(session_id)) < len(before)
    assert usage_of(client)["size"] == 8_192


async def test_a_copy_of_an_agents_conversation_is_not_compacted_by_a_number_nor_by_itself() -> None:
    client = build_test_client()
    lines = [{"role": role, "content": "sound and round " * 300} for _ in range(6) for role in ("user", "assistant")]
    imported = await client.call("session/import", text=json.dumps(lines))
    session_id = imported["session"]["sessionId"]
    before = await client.entries(session_id)
    client.recorder.take()
    client.workspace.configure(Settings(model="homemade-model", models={"homemade-model": ModelSettings(window=8_192)}))
    assert await client.entries(session_id) == before
    figures = (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]
    assert figures["managedBy"] == "agent"
    notices = [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert "compaction_due" not in [notice["_meta"]["ullage"]["kind"] for notice in notices]


async def test_new_settings_move_the_thresholds_of_open_sessions() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=4)
    client.workspace.configure(Settings(context=ContextSettings(warn_at=0.4, compact_at=0.7)))
    updates = client.recorder.take()
    facts = updates[0]["_meta"]["ullage"]
    assert (facts["warnAt"], facts["compactAt"]) == (2_457, 4_300)
    assert len(warnings(updates)) == 1
    assert (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]["level"] == "warning"


async def test_with_management_off_nothing_is_warned_of_or_compacted() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(enabled=False)))
    session_id = await fill(client, exchanges=12)
    assert len(await client.entries(session_id)) == 25
    await exchange(client, session_id, 12)
    assert {update["sessionUpdate"] for update in client.recorder.take()} == {"usage_update"}
    figures = (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]
    nothing = ("warnAt", "warnPercent", "compactAt", "threshold")
    assert {name: figures[name] for name in nothing} == dict.fromkeys(nothing)
    # The context is over usable, which is where it ends.
    assert (figures["level"], figures["managedBy"], figures["left"]) == ("off", "nobody", 0)


async def test_another_model_means_another_window_and_the_totals_stay() -> None:
    client = build_test_client()
    session_id = await start(client, LARGE_MODEL)
    usage = {"input_tokens": 900, "output_tokens": 20}
    await client.say(session_id, "Hello", "Hello! How can I help?", usage=usage)
    changed = (await client.call("session/append", sessionId=session_id, model=SMALL_MODEL))["usage"]
    assert changed["size"] == 8_192
    assert changed["_meta"]["ullage"]["totals"] == usage


async def test_a_message_sent_again_is_not_appended_again() -> None:
    client = build_test_client()
    session_id = await start(client)
    message = {"role": "user", "content": "Hello", "id": "mine"}
    first = await client.call("session/append", sessionId=session_id, messages=[message])
    again = await client.call("session/append", sessionId=session_id, messages=[message])
    assert first["messageIds"] == again["messageIds"] == ["mine"]
    assert len(await client.entries(session_id)) == 2


async def test_a_message_sent_again_after_it_was_archived_is_not_appended_again() -> None:
    client = build_test_client()
    session_id = await start(client)
    message = {"role": "assistant", "content": "I will. " * 20, "id": "mine"}
    await client.say(session_id, "Keep this in mind. " * 20)
    await client.call("session/append", sessionId=session_id, messages=[message])
    for number in range(9):
        await exchange(client, session_id, number)
    assert "mine" not in [entry["message"]["id"] for entry in await client.entries(session_id)]
    await client.call("session/append", sessionId=session_id, messages=[message])
    ids = [entry["message"]["id"] for entry in await client.entries(session_id, "transcript")]
    assert ids.count("mine") == 1
