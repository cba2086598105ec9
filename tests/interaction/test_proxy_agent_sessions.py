"""The sessions that the agent has behind the proxy: how they are opened, what is closed again and what is deleted, and
how they are listed."""

from pathlib import Path

import pytest

from support.acp_end import Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play
from support.proxy_rig import running
from support.puppet_agent import puppet
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
COPIES: Json = {"fork": {}, "close": {}, "resume": {}, "delete": {}}
COMMANDS = [{"name": "compact", "description": "Compact"}]


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


async def test_figures_that_come_before_the_answer_to_session_new_are_recorded_after_it(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/new", cwd="/work", mcpServers=[])
        request = await agent.gets("session/new")
        agent.says("s", "Welcome.")
        agent.reports("s", used=300, size=9_000)
        agent.answers(request, sessionId="s")
        await client.answer(asked)
        session = (await client.record()).open("s")
    assert [message.text for message in session.transcript.view] == ["Welcome."]
    assert session.used == 300


async def test_a_model_that_is_named_during_a_load_is_the_model_of_the_record(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/load", sessionId="old", cwd="/work", mcpServers=[])
        request = await agent.gets("session/load")
        agent.says("old", "Hello.")
        named = {"_claude/model": "claude-sonnet-4-5"}
        agent.updates("old", sessionUpdate="usage_update", used=300, size=9_000, _meta=named)
        agent.answers(request)
        await client.answer(asked)
        session = (await client.record()).open("old")
    assert (session.model, session.used) == ("claude-sonnet-4-5", 300)


async def test_a_compaction_in_a_replay_is_not_recorded_again(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/load", sessionId="old", cwd="/work", mcpServers=[])
        request = await agent.gets("session/load")
        agent.says("old", "Hello.")
        agent.updates("old", sessionUpdate="compaction_update", compactionId="c", status="completed")
        agent.answers(request)
        await client.answer(asked)
        session = (await client.record()).open("old")
    assert session.transcript.compactions == 0


ABILITIES: Json = {"loadSession": True, "sessionCapabilities": {"list": {}, "delete": {}}}


async def hand_over(play: Play) -> None:
    """Runs a turn and a handover to the session `fresh`, in which a turn follows."""
    play.agent.abilities = ABILITIES
    await play.greet()
    await play.turn("Where is the cask?")
    asked, request = await play.hand_over()
    play.agent.says(ID, "It is in the cellar.")
    play.agent.answers(request, stopReason="end_turn")
    play.agent.answers(await play.agent.gets("session/new"), sessionId="fresh")
    await play.client.answer(asked)
    await play.turn("Go on")


async def listed(play: Play, *session_ids: str) -> list[str]:
    """Returns the ids that the client gets in a list of these sessions of the agent."""
    asked = play.client.start("session/list")
    sessions = [{"sessionId": session_id, "cwd": "/work"} for session_id in session_ids]
    play.agent.answers(await play.agent.gets("session/list"), sessions=sessions)
    return [entry["sessionId"] for entry in (await play.client.answer(asked))["sessions"]]


async def test_the_fresh_session_is_listed_under_the_clients_id(play: Play) -> None:
    await hand_over(play)
    assert await listed(play, "fresh", "other", ID) == [ID, "other"]
    assert await listed(play, "other", ID) == ["other", ID]
    assert await listed(play, "fresh") == [ID]


async def test_deleting_a_conversation_deletes_all_its_sessions_and_the_record(play: Play) -> None:
    await hand_over(play)
    asked = play.client.start("session/delete", sessionId=ID)
    for session_id in ("fresh", ID):
        request = await play.agent.gets("session/delete")
        assert request["params"]["sessionId"] == session_id
        play.agent.answers(request)
    await play.client.answer(asked)
    workspace = await play.client.record()
    assert workspace.ports.store.list() == ()
    assert play.client.proxy.sessions.get(ID) is None


async def test_a_conversation_that_the_agent_refuses_to_delete_stays_open_and_recorded(play: Play) -> None:
    await hand_over(play)
    asked = play.client.start("session/delete", sessionId=ID)
    for _ in range(2):
        play.agent.refuses(await play.agent.gets("session/delete"))
    with pytest.raises(RpcFailure):
        await play.client.answer(asked)
    told = await play.turn("Are you there?")
    assert told["params"]["sessionId"] == "fresh"


async def test_after_the_undo_of_a_hand_over_the_history_is_the_recorded_one(play: Play) -> None:
    await hand_over(play)
    asked = play.prompts("/undo")
    await play.client.answer(asked)
    told = await play.turn("Third")
    # The agent is sent the later messages as one text.
    assert "Go on" in told["params"]["prompt"][0]["text"]
    before = len(play.client.updates("user_message_chunk"))
    loading = play.loads()
    request = await play.agent.gets("session/load")
    play.agent.updates(ID, sessionUpdate="user_message_chunk", content=told["params"]["prompt"][0])
    play.agent.answers(request)
    await play.client.answer(loading)
    shown = [update["content"]["text"] for update in play.client.updates("user_message_chunk")[before:]]
    assert shown == ["Where is the cask?", "Go on", "Third"]
