"""What MCP servers of a client do besides answering calls: they ask the user, change their tools, and end."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import PATIENCE
from support.playing_rig import ALLOW, MakeToolsRig, ToolsRig, rigs_by
from support.ready_servers import command_of
from ullage.tools import server_link

FORMS: Any = {"elicitation": {"form": {}}}
ADDRESSES: Any = {"elicitation": {"url": {}}}


@pytest.fixture
async def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[MakeToolsRig]:
    # A busy machine may be slow to name the tools again.
    monkeypatch.setattr(server_link, "Patience", partial(server_link.Patience, word=PATIENCE))
    async with rigs_by(partial(ToolsRig, tmp_path)) as make:
        yield make


def calling(*tools: str) -> str:
    """Returns a script in which the model calls these tools, one in each answer."""
    return "".join(f"tool: mcp__asking__{tool} {{}}\n---\n" for tool in tools) + "say: Done.\n---\nagain:"


async def opened(rig: ToolsRig, capabilities: Any = None, version: int = 1) -> str:
    rig.permit(ALLOW)
    command, arguments = command_of("asking_mcp_server")
    asking: Any = {"name": "asking", "command": command, "args": arguments, "env": []}
    return await rig.open(capabilities, [asking if version == 1 else {"type": "stdio", **asking}], version)


def answering(rig: ToolsRig, answer: Any) -> list[Any]:
    """Has the client answer every question of a server so, and returns the list to which the questions are added."""
    asked: list[Any] = []
    rig.answers["elicitation/create"] = lambda params: asked.append(params) or answer
    return asked


@pytest.mark.parametrize("version", [1, 2])
async def test_a_form_of_a_server_is_shown_with_its_name_and_answered(playing: MakeToolsRig, version: int) -> None:
    rig = playing(calling("choose"))
    asked = answering(rig, {"action": "accept", "content": {"name": "a@b.c", "count": 2}})
    session_id = await opened(rig, FORMS, version)
    assert await rig.run(session_id, "Go") == "end_turn"
    (question,) = asked
    assert question["message"] == "asking: Fill it in"
    call = (rig.updates("tool_call") or rig.updates("tool_call_update"))[0]
    assert question["toolCallId"] == call["toolCallId"]
    schema = question["requestedSchema"]
    assert schema["required"] == ["name"]
    assert schema["properties"]["size"]["oneOf"] == [
        {"const": "s", "title": "small"},
        {"const": "l", "title": "large"},
    ]
    assert schema["properties"]["name"] == {"type": "string", "title": "Name", "minLength": 1, "format": "email"}
    (result,) = await rig.results(session_id)
    assert '"action":"accept"' in result
    assert '"count":2' in result


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "decline"}, "decline"),
        ({"action": "cancel"}, "cancel"),
        ({"action": "_later"}, "cancel"),
        (5, "decline"),
    ],
)
async def test_no_answer_reaches_the_server_as_what_it_is(playing: MakeToolsRig, answer: Any, said: str) -> None:
    rig = playing(calling("choose"))
    answering(rig, answer)
    session_id = await opened(rig, FORMS)
    await rig.prompt(session_id, "Go")
    assert await rig.results(session_id) == [f'{{"action":"{said}"}}']


async def test_a_form_that_the_client_cannot_show_is_declined(playing: MakeToolsRig) -> None:
    rig = playing(calling("choose_nested", "visit"))
    asked = answering(rig, {"action": "accept", "content": {}})
    session_id = await opened(rig, FORMS)
    await rig.prompt(session_id, "Go")
    assert await rig.results(session_id) == ["decline", "decline"]
    assert asked == []


@pytest.mark.parametrize("version", [1, 2])
async def test_the_user_is_asked_to_open_an_address(playing: MakeToolsRig, version: int) -> None:
    rig = playing(calling("visit", "choose"))
    asked = answering(rig, {"action": "accept"})
    session_id = await opened(rig, ADDRESSES, version)
    await rig.run(session_id, "Go")
    (question,) = asked
    assert (question["mode"], question["url"], question["elicitationId"]) == (
        "url",
        "https://example.com/login",
        "visit-1",
    )
    assert await rig.results(session_id) == ["accept", '{"action":"decline"}']


async def test_a_server_is_not_told_that_a_user_can_be_asked_where_that_is_not_so(playing: MakeToolsRig) -> None:
    rig = playing(calling("choose"))
    session_id = await opened(rig)
    await rig.prompt(session_id, "Go")
    (result,) = await rig.results(session_id)
    assert "Elicitation not supported" in result


async def test_cancelling_the_turn_takes_a_server_s_question_back(playing: MakeToolsRig) -> None:
    rig = playing(calling("choose"))
    session_id = await opened(rig, FORMS)
    prompt = rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Go"}])
    question = await rig.until(lambda message: message.get("method") == "elicitation/create")
    rig.notify("session/cancel", sessionId=session_id)
    assert (await rig.answer(prompt))["stopReason"] == "cancelled"
    withdrawn = await rig.until(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"]["requestId"] == question["id"]
    rig.send({"id": question["id"], "error": {"code": -32800, "message": "cancelled"}})


async def test_a_tool_that_a_server_adds_can_be_called_in_the_same_turn(playing: MakeToolsRig) -> None:
    rig = playing(calling("grow", "grown"))
    session_id = await opened(rig)
    await rig.prompt(session_id, "Go")
    assert await rig.results(session_id) == ["Grown.", "Here."]
    assert "mcp__asking__grown" in await rig.offered(session_id)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of POSIX")
async def test_a_server_that_ended_between_prompts_runs_for_the_next_and_the_user_is_told_once(
    playing: MakeToolsRig,
) -> None:
    once = "tool: mcp__asking__process {}\n---\nsay: Done.\n---\n"
    rig = playing(once * 3 + "again:")
    session_id = await opened(rig)
    await rig.prompt(session_id, "Go")
    (before,) = await rig.results(session_id)
    os.kill(int(before), signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        while _runs(int(before)):
            await asyncio.sleep(0.01)
    await rig.prompt(session_id, "Again")
    await rig.prompt(session_id, "And again")
    _, second, third = await rig.results(session_id)
    assert before != second == third
    assert rig.text().count("The MCP server asking had ended and was started again.") == 1


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
