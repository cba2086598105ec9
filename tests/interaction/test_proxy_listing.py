"""A compacted conversation in the agent's list: one entry, opened with its true history, and deleted as a whole."""

from pathlib import Path

import pytest

from support.acp_end import Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play, playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
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


async def test_the_fresh_session_is_listed_under_the_clients_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await hand_over(play)
        assert await listed(play, "fresh", "other", ID) == [ID, "other"]
        assert await listed(play, "other", ID) == ["other", ID]
        assert await listed(play, "fresh") == [ID]


async def test_deleting_a_conversation_deletes_all_its_sessions_and_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
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


async def test_a_conversation_that_the_agent_refuses_to_delete_stays_open_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await hand_over(play)
        asked = play.client.start("session/delete", sessionId=ID)
        for _ in range(2):
            play.agent.refuses(await play.agent.gets("session/delete"))
        with pytest.raises(RpcFailure):
            await play.client.answer(asked)
        told = await play.turn("Are you there?")
        assert told["params"]["sessionId"] == "fresh"


async def test_after_the_undo_of_a_hand_over_the_history_is_the_recorded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
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
