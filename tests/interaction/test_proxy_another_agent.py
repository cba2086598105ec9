"""A conversation continues in another agent: as the user says, or because the agent refuses; and an undo goes back."""

import base64
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.acp_end import Json
from support.lsp_client import RpcFailure
from support.pdf import small_pdf
from support.proxy_rig import TOY, ProxyRig, running
from ullage.model.message import ResourceBlock

LASTING: Json = {"usage": True, "window": 8_000, "load": True}


def two(folder: Path, first: Json | None = None, second: Json | None = None) -> list[str]:
    """Returns the command line of two toys: `toy`, which is started first, and `other`."""
    line: list[str] = []
    for name, abilities in (("toy", first), ("other", second)):
        state = folder / name
        state.mkdir(exist_ok=True)
        log = str(folder / f"{name}.log")
        given = {"name": name, "state": str(state), "log": log, **LASTING, **(abilities or {})}
        line += [*(["--then"] if line else []), sys.executable, "-S", str(TOY), json.dumps(given)]
    return line


def asked(folder: Path, name: str, method: str) -> list[Json]:
    """Returns the params of the requests of a method that a toy got."""
    lines = (folder / f"{name}.log").read_text("utf-8").splitlines()
    got = [json.loads(line[1:]) for line in lines if line.startswith("<")]
    return [message["params"] for message in got if message.get("method") == method]


async def keepers(rig: ProxyRig, session_id: str) -> str:
    agent = (await rig.record()).open(session_id).transcript.agent
    assert agent is not None
    return agent.agent


@asynccontextmanager
async def begun(line: list[str], folder: Path) -> AsyncGenerator[tuple[ProxyRig, str]]:
    """Yields a rig with these agents, and a session in which the first one has had a turn."""
    async with running(line, folder) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "First")
        yield rig, session_id


async def test_the_other_agent_is_sent_the_whole_conversation_and_answers_under_the_clients_id(tmp_path: Path) -> None:
    async with running(two(tmp_path), tmp_path) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "read src/cask.py")
        shown = await rig.prompt(session_id, "/continue-in other")
        told = await rig.prompt(session_id, "Whose file is it?")
        session = (await rig.record()).open(session_id)
    assert shown.startswith("This conversation continues in other, which gets the whole conversation")
    assert "user: read src/cask.py" in told
    assert "contents of src/cask.py" in told
    assert told.endswith("Whose file is it?")
    # One record of everything, in which the conversation so far is not repeated.
    texts = [message.text for message in session.transcript.view]
    assert texts.count("read src/cask.py") == 1
    assert texts[-2] == "Whose file is it?"
    (prompt,) = asked(tmp_path, "other", "session/prompt")
    assert prompt["prompt"][1] == {"type": "text", "text": "Whose file is it?"}


async def test_an_undo_goes_back_to_the_first_agent_which_learns_what_was_said_since(tmp_path: Path) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        await rig.prompt(session_id, "/continue-in")
        await rig.prompt(session_id, "Second")
        assert await keepers(rig, session_id) == "other"
        assert "Undone" in await rig.prompt(session_id, "/undo")
        told = await rig.prompt(session_id, "Third")
        assert await keepers(rig, session_id) == "toy"
        with pytest.raises(RpcFailure, match="no compaction"):
            await rig.prompt(session_id, "/undo")
    assert told.startswith("I was told: First | ")
    assert "Second" in told
    assert len(asked(tmp_path, "toy", "session/prompt")) == 2


async def test_a_conversation_continues_in_the_first_agent_again_and_each_undo_goes_one_step_back(
    tmp_path: Path,
) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        await rig.prompt(session_id, "/continue-in other")
        await rig.prompt(session_id, "Second")
        await rig.prompt(session_id, "/continue-in toy")
        told = await rig.prompt(session_id, "Third")
        for keeper in ("other", "toy"):
            await rig.prompt(session_id, "/undo")
            assert await keepers(rig, session_id) == keeper
    assert "user: First" in told
    assert "user: Second" in told


async def test_a_conversation_that_does_not_fit_is_handed_over_with_a_summary(tmp_path: Path) -> None:
    async with running(two(tmp_path, {"window": 200_000}), tmp_path) as rig:
        session_id = await rig.open()
        for number in range(8):
            await rig.prompt(session_id, f"{number}: " + "a long story of casks and barrels. " * 400)
        shown = await rig.prompt(session_id, "/continue-in other")
        told = await rig.prompt(session_id, "Go on")
        assert "Undone" in await rig.prompt(session_id, "/undo")
        assert await keepers(rig, session_id) == "toy"
        session = (await rig.record()).open(session_id)
    assert "which gets a summary" in shown
    assert "SUMMARY of 8 exchanges" in told
    assert session.transcript.messages == session.transcript.active


@pytest.mark.parametrize("refusal", ["quota", "login"])
async def test_a_prompt_that_the_agent_refuses_for_now_is_answered_by_the_next_agent(
    tmp_path: Path, refusal: str
) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        told = await rig.prompt(session_id, f"refuse {refusal}")
        again = await rig.prompt(session_id, "Second")
        session = (await rig.record()).open(session_id)
    assert told.startswith("toy refuses: ")
    assert "This conversation continues in other" in told
    (first, second) = asked(tmp_path, "other", "session/prompt")
    assert "user: First" in first["prompt"][0]["text"]
    assert "refuse" not in first["prompt"][0]["text"], "the prompt itself comes after what was said before"
    assert first["prompt"][1]["text"] == f"refuse {refusal}"
    assert len(second["prompt"]) == 1
    assert "Second" in again
    assert [message.text for message in session.transcript.view].count(f"refuse {refusal}") == 1


async def test_other_errors_do_not_move_a_conversation(tmp_path: Path) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        with pytest.raises(RpcFailure, match="There is no such tool"):
            await rig.prompt(session_id, "refuse tool")
        assert await keepers(rig, session_id) == "toy"


async def test_if_no_further_agent_can_be_started_the_client_gets_the_refusal(tmp_path: Path) -> None:
    line = [*two(tmp_path)[:4], "--then", str(tmp_path / "missing")]
    async with begun(line, tmp_path) as (rig, session_id):
        with pytest.raises(RpcFailure, match="usage limit"):
            await rig.prompt(session_id, "refuse quota")
        assert (await rig.prompt(session_id, "Second")).endswith("Second")


async def test_a_conversation_that_another_agent_has_is_loaded_from_that_agent(tmp_path: Path) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        await rig.prompt(session_id, "/continue-in other")
        await rig.prompt(session_id, "Second")
    async with running(two(tmp_path), tmp_path) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId=session_id, cwd="/work", mcpServers=[])
        shown = [update["content"]["text"] for update in rig.updates("user_message_chunk")]
        told = await rig.prompt(session_id, "Third")
        assert "Undone" in await rig.prompt(session_id, "/undo")
        back = await rig.prompt(session_id, "Fourth")
    assert shown == ["First", "Second"]
    assert told.endswith("Second | Third")
    assert back.startswith("I was told: First | ")


@pytest.mark.parametrize("by", ["session/cancel", "$/cancel_request"])
async def test_a_cancelled_move_leaves_the_conversation_where_it_was_and_can_be_made_later(
    tmp_path: Path, by: str
) -> None:
    async with begun(two(tmp_path), tmp_path) as (rig, session_id):
        moves, waits = (
            rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])
            for text in ("/continue-in", "Second")
        )
        rig.send({"method": by, "params": {"sessionId": session_id, "requestId": moves}})
        assert (await rig.answer(moves))["stopReason"] == "cancelled"
        # `session/cancel` is for the prompt that waits, too.
        expected = "cancelled" if by == "session/cancel" else "end_turn"
        assert (await rig.answer(waits))["stopReason"] == expected
        assert await keepers(rig, session_id) == "toy"
        await rig.prompt(session_id, "/continue-in")
        assert await keepers(rig, session_id) == "other"
        assert (await rig.prompt(session_id, "Third")).endswith("Third")
    assert len(asked(tmp_path, "other", "initialize")) == 1


async def test_if_the_other_agent_cannot_be_started_the_conversation_stays(tmp_path: Path) -> None:
    line = [*two(tmp_path)[:4], "--then", str(tmp_path / "missing")]
    async with begun(line, tmp_path) as (rig, session_id):
        with pytest.raises(RpcFailure, match="cannot start the agent"):
            await rig.prompt(session_id, "/continue-in missing")
        with pytest.raises(RpcFailure, match="no other agent is named 'nobody'; there is missing"):
            await rig.prompt(session_id, "/continue-in nobody")
        assert await rig.prompt(session_id, "Second") == "I was told: First | Second"


async def test_requests_of_the_other_agent_reach_the_client_under_ids_of_their_own(tmp_path: Path) -> None:
    async with running(two(tmp_path), tmp_path) as rig:
        rig.allows = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        session_id = await rig.open()
        assert "allowed: selected" in await rig.prompt(session_id, "permit")
        await rig.prompt(session_id, "/continue-in other")
        assert "allowed: selected" in await rig.prompt(session_id, "permit again")
    requests = [message for message in rig.messages if message.get("method") == "session/request_permission"]
    assert [message["params"]["sessionId"] for message in requests] == [session_id] * 2
    assert len({json.dumps(message["id"]) for message in requests}) == 2


async def test_the_end_of_the_other_agent_loses_its_sessions_alone(tmp_path: Path) -> None:
    async with running(two(tmp_path), tmp_path) as rig:
        stays, moves = await rig.open(), (await rig.ask("session/new", cwd="/work", mcpServers=[]))["sessionId"]
        for session_id in (stays, moves):
            await rig.prompt(session_id, "First")
        await rig.prompt(moves, "/continue-in other")
        await rig.prompt(moves, "Second")
        with pytest.raises(RpcFailure, match="other ended"):
            await rig.prompt(moves, "die now")
        assert await rig.prompt(stays, "Second") == "I was told: First | Second"
        assert (await rig.prompt(moves, "Third")).endswith("Third")
    assert len(asked(tmp_path, "toy", "initialize")) == 1
    assert len(asked(tmp_path, "other", "initialize")) == 2


async def test_the_command_is_offered_only_with_another_agent(tmp_path: Path) -> None:
    async with running(two(tmp_path, {"commands": ["review"]}), tmp_path) as rig:
        await rig.open()
        await rig.until(lambda _: len(rig.updates("available_commands_update")) > 1)
        commands = rig.updates("available_commands_update")[-1]["availableCommands"]
    assert [command["name"] for command in commands] == ["review", "context", "compact", "undo", "continue-in"]
    async with running(two(tmp_path)[:4], tmp_path) as rig:
        session_id = await rig.open()
        assert await rig.prompt(session_id, "/continue-in other") == "I was told: /continue-in other"


async def test_another_agent_that_gets_the_conversation_as_text_is_told_of_the_document(tmp_path: Path) -> None:
    data = base64.b64encode(small_pdf()).decode()
    async with running(two(tmp_path), tmp_path) as rig:
        session_id = await rig.open()
        resource = {"uri": "file:///project/spec.pdf", "blob": data, "mimeType": "application/pdf"}
        prompt = [{"type": "resource", "resource": resource}, {"type": "text", "text": "Read this."}]
        await rig.ask("session/prompt", sessionId=session_id, prompt=prompt)
        await rig.prompt(session_id, "/continue-in other")
        told = await rig.prompt(session_id, "And?")
        messages = (await rig.record()).open(session_id).transcript.view
    (kept,) = [block for message in messages for block in message.content if isinstance(block, ResourceBlock)]
    assert (kept.data, kept.mime_type) == (data, "application/pdf")
    assert "[file:///project/spec.pdf (application/pdf, 1 kB)]" in told
    assert data not in told
