"""Ullage as a link of a chain: it reaches the agent through the conductor, and does what it does with an agent of its
own."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL, Json
from support.chain_rig import ChainRig, chain_rig
from support.lsp_client import RpcFailure
from ullage.proxy.connection import ProxyOptions

OFFERED: Json = {"name": "ullage", "command": "ullage", "args": ["mcp"], "env": []}
OPTIONS = ProxyOptions(own_methods=True, asks_for_compactions=True, server=OFFERED)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[ChainRig]:
    given = {"usage": True, "window": 8_000, "load": True, "state": str(tmp_path), "log": str(tmp_path / "log")}
    async with chain_rig(tmp_path, given, OPTIONS) as chain:
        yield chain
    assert chain.faults == []


async def test_a_conversation_through_a_chain_is_recorded_compacted_and_taken_back(rig: ChainRig) -> None:
    session_id = await rig.open(SHOWS_ALL)
    await rig.prompt(session_id, "read src/cask.py")
    assert "Compacted 4 messages" in await rig.prompt(session_id, "/compact")
    told = await rig.prompt(session_id, "Go on")
    assert "Undone" in await rig.prompt(session_id, "/undo")
    back = await rig.prompt(session_id, "And then?")
    session = (await rig.record()).open(session_id)
    assert "SUMMARY of 1 exchanges" in told
    assert back.startswith("I was told: read src/cask.py | ")
    assert session.transcript.archived == 0


async def test_the_agent_of_a_chain_is_greeted_with_initialize_and_offered_the_tools(
    rig: ChainRig, tmp_path: Path
) -> None:
    await rig.open()
    lines = [json.loads(line[1:]) for line in (tmp_path / "log").read_text("utf-8").splitlines() if line[0] == "<"]
    assert [message["method"] for message in lines] == ["initialize", "session/new"]
    assert lines[1]["params"]["mcpServers"] == [OFFERED]


async def test_what_the_agent_asks_reaches_the_client_and_the_answer_the_agent(rig: ChainRig) -> None:
    rig.allows = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    session_id = await rig.open()
    assert "allowed: selected" in await rig.prompt(session_id, "permit")


async def test_a_cancelled_handover_is_cancelled_in_a_chain_too(rig: ChainRig) -> None:
    session_id = await rig.open(SHOWS_ALL)
    await rig.prompt(session_id, "Hello")
    asked = rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "/compact"}])
    rig.send({"method": "session/cancel", "params": {"sessionId": session_id}})
    assert (await rig.answer(asked))["stopReason"] == "cancelled"


async def test_errors_of_the_agent_are_the_clients(rig: ChainRig) -> None:
    await rig.greet()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/unheard_of")
    assert failure.value.code == -32601


async def test_without_a_successor_the_client_is_refused_with_the_remedy(tmp_path: Path) -> None:
    async with chain_rig(tmp_path, {"usage": True, "window": 8_000}, OPTIONS) as rig:
        # As a conductor sends it to the last link.
        super(ChainRig, rig).send_line(
            b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}\n'
        )
        with pytest.raises(RpcFailure, match="an agent must follow it"):
            await rig.answer(7)
