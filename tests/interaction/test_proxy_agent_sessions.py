"""The sessions that the agent makes for the proxy: what is open, what is closed again, and what is deleted."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.acp_end import Json
from support.proxy_play import ID, Play, playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
COPIES: Json = {"fork": {}, "close": {}, "resume": {}, "delete": {}}
COMMANDS = [{"name": "compact", "description": "Compact"}]


@pytest.fixture
async def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Play]:
    async with playing(tmp_path, monkeypatch) as play:
        yield play


async def begin(play: Play, *, compacts: bool) -> None:
    """Has a conversation with an agent that makes copies."""
    play.agent.abilities = {"sessionCapabilities": COPIES}
    await play.greet()
    if compacts:
        play.agent.updates(ID, sessionUpdate="available_commands_update", availableCommands=COMMANDS)
    await play.turn()


async def compact(play: Play) -> None:
    """Has the agent compact by its own command, after it has made a copy."""
    asked = play.prompts("/compact")
    play.agent.answers(await play.agent.gets("session/fork"), sessionId="copy")
    closing, request = await play.agent.gets_both("session/close", "session/prompt")
    assert closing["params"]["sessionId"] == "copy"
    play.agent.answers(closing)
    play.agent.updates(ID, sessionUpdate="compaction_update", compactionId="c1", status="completed")
    play.agent.answers(request, stopReason="end_turn")
    await play.client.answer(asked)


async def test_a_copy_for_an_undo_is_closed_at_once_and_opened_again_for_the_undo(play: Play) -> None:
    await begin(play, compacts=True)
    await compact(play)
    asked = play.prompts("/undo")
    opening = await play.agent.gets("session/resume")
    assert opening["params"]["sessionId"] == "copy"
    play.agent.answers(opening)
    closing = await play.agent.gets("session/close")
    assert closing["params"]["sessionId"] == ID
    play.agent.answers(closing)
    await play.client.answer(asked)
    assert (await play.turn("Go on"))["params"]["sessionId"] == "copy"


async def test_a_copy_that_was_asked_for_a_summary_is_deleted_and_the_session_that_was_left_is_closed(
    play: Play,
) -> None:
    await begin(play, compacts=False)
    asked = play.prompts("/compact")
    play.agent.answers(await play.agent.gets("session/fork"), sessionId="copy")
    request = await play.agent.gets("session/prompt")
    assert request["params"]["sessionId"] == "copy"
    play.agent.says("copy", "SUMMARY")
    play.agent.answers(request, stopReason="end_turn")
    closing, making = await play.agent.gets_both("session/close", "session/new")
    assert closing["params"]["sessionId"] == "copy"
    play.agent.answers(closing)
    deleting = await play.agent.gets("session/delete")
    assert deleting["params"]["sessionId"] == "copy"
    play.agent.answers(deleting)
    play.agent.answers(making, sessionId="fresh")
    leaving = await play.agent.gets("session/close")
    assert leaving["params"]["sessionId"] == ID
    play.agent.answers(leaving)
    await play.client.answer(asked)


async def test_a_copy_that_comes_after_its_hand_over_was_cancelled_is_muted_and_deleted(play: Play) -> None:
    await begin(play, compacts=False)
    asked = play.prompts("/compact")
    forking = await play.agent.gets("session/fork")
    play.client.send({"method": "session/cancel", "params": {"sessionId": ID}})
    assert (await play.client.answer(asked))["stopReason"] == "cancelled"
    play.agent.answers(forking, sessionId="copy")
    play.agent.says("copy", "a replay")
    play.agent.answers(await play.agent.gets("session/close"))
    play.agent.answers(await play.agent.gets("session/delete"))
    await play.turn("Go on")
    assert not any(b"a replay" in line for line in play.client.lines)


async def test_a_late_copy_that_the_agent_cannot_delete_never_appears_in_the_clients_list(play: Play) -> None:
    play.agent.abilities = {"sessionCapabilities": {"fork": {}, "close": {}, "list": {}}}
    await play.greet()
    await play.turn()
    asked = play.prompts("/compact")
    forking = await play.agent.gets("session/fork")
    play.client.send({"method": "session/cancel", "params": {"sessionId": ID}})
    assert (await play.client.answer(asked))["stopReason"] == "cancelled"
    play.agent.answers(forking, sessionId="copy")
    play.agent.answers(await play.agent.gets("session/close"))
    listing = play.client.start("session/list")
    sessions = [{"sessionId": session_id, "cwd": "/work"} for session_id in ("copy", ID)]
    play.agent.answers(await play.agent.gets("session/list"), sessions=sessions)
    assert [entry["sessionId"] for entry in (await play.client.answer(listing))["sessions"]] == [ID]


async def test_the_copy_of_a_compaction_that_changed_nothing_is_deleted(play: Play) -> None:
    await begin(play, compacts=True)
    asked = play.prompts("/compact")
    play.agent.answers(await play.agent.gets("session/fork"), sessionId="copy")
    closing, request = await play.agent.gets_both("session/close", "session/prompt")
    play.agent.answers(closing)
    play.client.send({"method": "session/cancel", "params": {"sessionId": ID}})
    await play.agent.gets("session/cancel")
    play.agent.answers(request, stopReason="cancelled")
    play.agent.refuses(await play.agent.gets("session/close"))
    deleting = await play.agent.gets("session/delete")
    assert deleting["params"]["sessionId"] == "copy"
    play.agent.answers(deleting)
    assert (await play.client.answer(asked))["stopReason"] == "cancelled"
