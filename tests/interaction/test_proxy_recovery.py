"""Recovery after the agent ends in the middle of a turn, after the proxy ends, and after the agent forgets its
session."""

from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL
from support.lsp_client import RpcFailure
from support.proxy_rig import proxy_rig

LASTING = {"usage": True, "window": 8_000, "load": True}


async def test_an_agent_that_dies_is_a_clear_error_and_what_it_had_said_is_kept(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LASTING) as rig:
        session_id = await rig.open()
        with pytest.raises(RpcFailure, match=r"toy ended \(exit status 3; its last words: out of memory\)"):
            await rig.prompt(session_id, "die now")
        view = (await rig.record()).open(session_id).transcript.view
    assert [message.text for message in view] == ["die now", "I am about to"]


async def test_a_session_that_was_handed_over_is_loaded_with_its_whole_history(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LASTING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "First")
        await rig.prompt(session_id, "/compact")
        await rig.prompt(session_id, "Second")
    async with proxy_rig(tmp_path, LASTING) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId=session_id, cwd="/work", mcpServers=[])
        asked = [update["content"]["text"] for update in rig.updates("user_message_chunk")]
        told = await rig.prompt(session_id, "Third")
        assert "Undone" in await rig.prompt(session_id, "/undo")
        back = await rig.prompt(session_id, "Fourth")
    assert asked == ["First", "Second"]
    assert "SUMMARY of 1 exchanges" in told
    assert told.count("First") == 1, "the user's words are kept, not the exchange"
    assert back.startswith("I was told: First")


async def test_a_session_that_is_loaded_right_after_a_hand_over_still_begins_with_the_summary(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LASTING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "First")
        await rig.prompt(session_id, "/compact")
    async with proxy_rig(tmp_path, LASTING) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId=session_id, cwd="/work", mcpServers=[])
        assert "SUMMARY of 1 exchanges" in await rig.prompt(session_id, "Go on")


async def test_a_session_that_the_agent_has_lost_is_begun_again_from_the_record(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LASTING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "The cask is called Berta")
    (tmp_path / "sessions.json").unlink()
    async with proxy_rig(tmp_path, LASTING) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId=session_id, cwd="/work", mcpServers=[])
        assert "Berta" in await rig.prompt(session_id, "Which cask?")


async def test_the_commands_of_a_session_that_was_handed_over_are_listed_once_with_those_of_the_agent(
    tmp_path: Path,
) -> None:
    async with proxy_rig(tmp_path, {**LASTING, "commands": ["review"]}) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "First")
        await rig.prompt(session_id, "/compact")
        await rig.prompt(session_id, "Second")
    async with proxy_rig(tmp_path, {**LASTING, "commands": ["review"]}) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId=session_id, cwd="/work", mcpServers=[])
        await rig.prompt(session_id, "/context")
        (listed,) = rig.updates("available_commands_update")
    assert [command["name"] for command in listed["availableCommands"]] == ["review", "context", "compact", "undo"]


async def test_the_user_learns_that_an_agent_that_forgets_goes_on_with_a_summary(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**LASTING, "load": False}) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "The cask is called Berta")
        with pytest.raises(RpcFailure):
            await rig.prompt(session_id, "die now")
        shown = await rig.prompt(session_id, "Which cask?")
    assert shown.startswith("toy could not open this conversation again. It continues in a fresh session")
    (compaction,) = rig.updates("compaction_update")
    assert compaction["status"] == "completed"
    assert "Berta" in compaction["summary"][0]["text"]


async def test_an_agent_that_forgets_and_counts_its_sessions_again_is_not_said_to_have_compacted(
    tmp_path: Path,
) -> None:
    async with proxy_rig(tmp_path, {**LASTING, "load": False, "id": "toy-1"}) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "The cask is called Berta")
        with pytest.raises(RpcFailure):
            await rig.prompt(session_id, "die now")
        await rig.prompt(session_id, "Which cask?")
        with pytest.raises(RpcFailure, match="toy no longer has its session from before the summary"):
            await rig.prompt(session_id, "/undo")
