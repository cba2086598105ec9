"""Whole conversations with real SDKs against servers that speak the providers' wire formats."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.lsp_client import LspClient
from support.program import language_server
from support.transcripts import conversation
from support.wire.clients import DIALECTS, settings_of
from support.wire.recording import read_recording
from support.wire.replay import MODELS, replay
from support.wire.replies import Call, Fault, Reply, Say, fail, say
from support.wire.server import WireServer, replies
from support.wire.storm import weather
from ullage.model.usage import UsageSource

PATIENCE = 180.0
LONG = "iso_bench_trae/us-anthropic-claude-sonn__sglang_sonnet45_rerun_f06e90c2.trajectory.json"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_recorded_conversation_in_a_small_window_sends_nothing_the_provider_would_refuse(
    kind: str, tmp_path: Path
) -> None:
    found = await replay(read_recording(conversation(LONG), 60), kind, tmp_path, 16_000)
    assert found.answers == 60
    assert found.compactions >= 3
    assert found.over_window == 0
    assert found.violations == []
    errors = sorted(guess.error for guess in found.guesses if guess.source is not UsageSource.ESTIMATED)
    assert errors[len(errors) // 2] < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_session_survives_a_provider_that_fails_at_random(kind: str, tmp_path: Path) -> None:
    found = await weather(kind, tmp_path, 25, seed=7)
    assert found.turns == 25
    assert found.faults.total() > 5
    assert (found.unusable, found.lost, found.violations) == ([], [], [])
    assert (found.over_window, found.past_deadline) == (0, 0)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_the_program_reads_a_file_for_the_model_and_sends_its_answer(kind: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The cask holds ninety litres.")
    read = Reply(parts=(Say("Let me see."), Call("call_1", "read_file", '{"path": "notes.txt"}')))
    server = WireServer(DIALECTS[kind](), replies(read, say("Ninety litres.")))
    async with server.serving(), language_server(tmp_path / "s.db", settings_for(server)) as client:
        session_id = await new_session(client, kind, tmp_path)
        result = await client.request("ullage/session/prompt", prompt(session_id))
        assert result == {"stopReason": "end_turn"}
    said = [update["content"]["text"] for update in client.updates if update["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(said) == "Let me see.Ninety litres."
    assert [received.violations for received in server.asked] == [[], []]
    assert "ninety litres" in str(server.asked[1].body)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_cancelling_in_the_program_hangs_up_at_the_provider(kind: str, tmp_path: Path) -> None:
    server = WireServer(DIALECTS[kind](), replies(fail(Fault.STALL, after=6)))
    async with server.serving(), language_server(tmp_path / "s.db", settings_for(server)) as client:
        session_id = await new_session(client, kind, tmp_path)
        answer = await client.start("ullage/session/prompt", prompt(session_id))
        await client.wait_for("ullage/session/update", is_answer)
        await client.notify("ullage/session/cancel", {"sessionId": session_id})
        assert await asyncio.wait_for(answer, PATIENCE) == {"stopReason": "cancelled"}
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)


def settings_for(server: WireServer) -> dict[str, Any]:
    kind = server.dialect.name
    return {"provider": kind, "providers": {kind: msgspec.to_builtins(settings_of(server, 60.0))}}


async def new_session(client: LspClient, kind: str, cwd: Path) -> str:
    session = await client.request("ullage/session/new", {"model": MODELS[kind], "cwd": str(cwd)})
    return session["sessionId"]


def prompt(session_id: str) -> dict[str, Any]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": "What does the note say?"}]}


def is_answer(params: Any) -> bool:
    return params["update"]["sessionUpdate"] == "agent_message_chunk"
