"""The agent's compactions are recorded whether or not the client takes updates of compactions, and shown to both."""

from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL, Json
from support.proxy_play import ID, Play, playing
from support.systems import needs_unix_sockets
from ullage.proxy.connection import ProxyOptions

pytestmark = needs_unix_sockets
ASKS = ProxyOptions(asks_for_compactions=True)
BEGUN: Json = {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"}
DONE: Json = {**BEGUN, "status": "completed"}
# How adapters report a compaction to a client that takes no updates of compactions.
CALL: Json = {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "think", "status": "in_progress"}
CALLED: Json = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
NAMED: Json = {"_meta": {"claudeCode": {"toolName": "compact"}}}
TITLED: Json = {"title": "Compact conversation"}


async def compact(play: Play, *updates: Json) -> None:
    """Runs a turn in which the agent compacts by itself, between two answers."""
    await play.turn()
    asked = play.prompts("Go on")
    request = await play.agent.gets("session/prompt")
    for update in updates:
        play.agent.updates(ID, **update)
    play.agent.says(ID, "Done.")
    play.agent.answers(request, stopReason="end_turn")
    await play.client.answer(asked)


async def view(play: Play) -> list[str]:
    """Returns the context by the record: each message's text, or a compaction's summary in brackets."""
    messages = (await play.client.record()).open(ID).transcript.view
    return [f"[{one.compaction.summary}]" if one.compaction else one.text for one in messages]


@pytest.mark.parametrize("capabilities", [SHOWS_ALL, {}, {"session": None}], ids=["shows", "lacks", "null"])
async def test_the_agent_is_asked_for_updates_of_compactions_whatever_the_client_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capabilities: Json
) -> None:
    async with playing(tmp_path, monkeypatch, ASKS) as play:
        await play.greet(capabilities)
        assert play.agent.greeted["clientCapabilities"]["session"]["compaction"] == {}


async def test_a_client_that_takes_no_updates_of_compactions_gets_a_tool_call_with_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c1"}
    pieces = [{**chunk, "content": {"type": "text", "text": text}} for text in ("A ", "cask.")]
    async with playing(tmp_path, monkeypatch, ASKS) as play:
        await play.greet()
        await compact(play, BEGUN, *pieces, DONE)
        assert await view(play) == ["[A cask.]", "Done."]
    (begun,), (done,) = play.client.updates("tool_call"), play.client.updates("tool_call_update")
    assert (begun["kind"], begun["status"]) == ("think", "in_progress")
    assert (done["toolCallId"], done["status"]) == (begun["toolCallId"], "completed")
    assert done["content"][0]["content"]["text"] == "A cask."
    assert not play.client.updates("compaction_update")
    assert not play.client.updates("compaction_summary_chunk")


async def test_a_compaction_that_failed_is_a_failed_tool_call_and_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch, ASKS) as play:
        await play.greet()
        await compact(play, {**BEGUN, "status": "failed", "error": "No room."})
        assert await view(play) == ["Hello", "Yes.", "Go on", "Done."]
    (call,) = play.client.updates("tool_call")
    assert (call["status"], call["content"][0]["content"]["text"]) == ("failed", "No room.")


@pytest.mark.parametrize("mark", [NAMED, TITLED], ids=["by its tool", "by its title"])
async def test_a_compaction_that_is_reported_as_a_tool_call_is_recorded_as_a_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: Json
) -> None:
    async with playing(tmp_path, monkeypatch, ASKS) as play:
        await play.greet()
        await compact(play, CALL | mark, CALLED | mark)
        assert await view(play) == ["[The agent compacted its context and kept the summary to itself.]", "Done."]
