"""Prompt turns at the ACP door with real SDKs, against servers that speak the providers' wire formats."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from support.acp_rig import AcpRig, stored_rig
from support.pdf import small_pdf
from support.wire.clients import DIALECTS, settings_of
from support.wire.replies import Call, Fault, Reply, Say, fail, say
from support.wire.server import WireServer, replies
from ullage.model.settings import ProviderSettings, Settings

PATIENCE = 60.0
MODELS = {"anthropic": "claude-sonnet-5", "openai": "gpt-5", "openai_chat": "gpt-4o"}
PROMPT = [{"type": "text", "text": "What does the note say?"}]
_ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645"
    "400000000049454e44ae426082"
)
ALLOW = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


@asynccontextmanager
async def rig_for(server: WireServer, folder: Path) -> AsyncGenerator[AcpRig]:
    kind = server.dialect.name
    given = msgspec.convert(msgspec.to_builtins(settings_of(server, 60.0)), ProviderSettings)
    rig = stored_rig(folder / "s.db", Settings(model=MODELS[kind], provider=kind, providers={kind: given}))
    yield rig
    await rig.hang_up()


@pytest.mark.parametrize("kind", DIALECTS)
async def test_the_model_reads_a_file_that_the_user_permits_and_answers(kind: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The cask holds ninety litres.")
    read = Reply(parts=(Say("Let me see."), Call("call_1", "read_file", '{"path": "../notes.txt"}')))
    server = WireServer(DIALECTS[kind](), replies(read, say("Ninety litres.")))
    async with server.serving(), rig_for(server, tmp_path) as rig:
        rig.answers["session/request_permission"] = lambda _: ALLOW
        await rig.initialize()
        (tmp_path / "project").mkdir()
        session_id = await rig.new_session(str(tmp_path / "project"))
        answer = await rig.ask("session/prompt", sessionId=session_id, prompt=PROMPT)
        assert answer["stopReason"] == "end_turn"
        assert answer["usage"]["totalTokens"] > 0
    assert rig.text() == "Let me see.Ninety litres."
    assert rig.updates("usage_update")[-1]["_meta"]["ullage"]["source"] == "reported"
    assert [received.violations for received in server.asked] == [[], []]
    assert "ninety litres" in str(server.asked[1].body)
    assert rig.faults == []


@pytest.mark.parametrize("kind", DIALECTS)
async def test_the_files_that_a_prompt_links_to_reach_the_provider_as_it_takes_them(kind: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The cask holds ninety litres.")
    (tmp_path / "cask.png").write_bytes(_ONE_PIXEL)
    (tmp_path / "cask.pdf").write_bytes(small_pdf())
    paths = [tmp_path / "notes.txt", tmp_path / "cask.png", tmp_path / "cask.pdf"]
    links = [{"type": "resource_link", "uri": path.as_uri(), "name": path.name} for path in paths]
    server = WireServer(DIALECTS[kind](), replies(say("Ninety litres.")))
    async with server.serving(), rig_for(server, tmp_path) as rig:
        await rig.initialize()
        session_id = await rig.new_session(str(tmp_path))
        assert (await rig.ask("session/prompt", sessionId=session_id, prompt=[*PROMPT, *links]))[
            "stopReason"
        ] == "end_turn"
    (received,) = server.asked
    assert received.violations == []
    assert f"[Resource {paths[0].as_uri()}]\\nThe cask holds ninety litres." in str(received.body)
    assert base64.b64encode(_ONE_PIXEL).decode() in str(received.body)
    assert base64.b64encode(small_pdf()).decode() in str(received.body)
    assert rig.faults == []


@pytest.mark.parametrize("kind", DIALECTS)
async def test_cancelling_hangs_up_at_the_provider(kind: str, tmp_path: Path) -> None:
    server = WireServer(DIALECTS[kind](), replies(fail(Fault.STALL, after=6)))
    async with server.serving(), rig_for(server, tmp_path) as rig:
        await rig.initialize()
        session_id = await rig.new_session(str(tmp_path))
        request_id = rig.start("session/prompt", sessionId=session_id, prompt=PROMPT)
        await rig.update(session_id, "agent_message_chunk")
        rig.notify("session/cancel", sessionId=session_id)
        assert (await rig.answer(request_id))["stopReason"] == "cancelled"
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)
    assert rig.faults == []
