"""What a session has besides the toolbox: MCP servers of the client, modes, plans, questions to the user."""

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.lsp_client import RpcFailure
from support.playing_rig import ALLOW, REJECT, MakeToolsRig, ToolsRig, rigs_by
from support.ready_servers import command_of

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


@pytest.fixture
async def playing(tmp_path: Path) -> AsyncGenerator[MakeToolsRig]:
    async with rigs_by(partial(ToolsRig, tmp_path)) as make:
        yield make


def small() -> Any:
    command, arguments = command_of("small_mcp_server")
    return {"name": "small", "command": command, "args": arguments, "env": []}


def writing(path: Path) -> str:
    """Returns the script's line that has the server write a file."""
    given = msgspec.json.encode({"path": str(path), "text": "x"}).decode()
    return f"tool: mcp__small__note {given}\n"


ADDING = 'tool: mcp__small__add {"a": 2, "b": 3}\n---\nsay: Five.\n---\nagain:'


async def test_a_tool_of_a_client_s_server_is_called_in_version_2_too(playing: MakeToolsRig) -> None:
    rig = playing(ADDING)
    rig.permit(ALLOW)
    session_id = await rig.open(servers=[{"type": "stdio", **small()}], version=2)
    assert await rig.run(session_id, "Add") == "end_turn"
    (question,) = rig.asked
    assert (question["title"], question["subject"]["toolCall"]["kind"]) == ("small: add", "read")
    assert await rig.results(session_id) == ["The sum is 5."]


async def test_a_tool_of_a_client_s_server_is_permitted_called_recorded_and_replayed(playing: MakeToolsRig) -> None:
    rig = playing(ADDING)
    rig.permit(ALLOW)
    session_id = await rig.open(servers=[small()])
    assert (await rig.prompt(session_id, "Add"))["stopReason"] == "end_turn"
    (question,) = rig.asked
    assert (question["toolCall"]["title"], question["toolCall"]["kind"]) == ("small: add", "read")
    assert await rig.results(session_id) == ["The sum is 5."]
    assert rig.updates("tool_call_update")[-1]["content"][0]["content"]["text"] == "```\nThe sum is 5.\n```"
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    assert [call["title"] for call in rig.updates("tool_call")] == ["small: add"]


async def test_a_rejected_call_does_not_reach_the_server(playing: MakeToolsRig, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    rig = playing(f"{writing(path)}---\nsay: Then not.")
    rig.permit(REJECT)
    session_id = await rig.open(servers=[small()])
    await rig.prompt(session_id, "Write")
    assert await rig.results(session_id) == ["[The user did not permit this tool call.]"]
    assert not path.exists()


async def test_the_servers_of_the_last_opening_are_the_ones_offered(playing: MakeToolsRig) -> None:
    rig = playing("say: Yes.\nagain:")
    session_id = await rig.open(servers=[small()])
    await rig.prompt(session_id, "Are you there?")
    assert {"mcp__small__add", "update_plan", "read_file"} <= await rig.offered(session_id)
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    await rig.prompt(session_id, "And now?")
    offered = await rig.offered(session_id)
    assert {"update_plan", "read_file"} <= offered
    assert not [name for name in offered if name.startswith("mcp__")]


async def test_the_user_is_shown_that_a_server_cannot_be_used_and_the_model_answers_all_the_same(
    playing: MakeToolsRig,
) -> None:
    rig = playing("say: Yes.\nagain:")
    session_id = await rig.open(servers=[{"name": "none", "command": "/no/such/program", "args": [], "env": []}])
    assert (await rig.prompt(session_id, "Are you there?"))["stopReason"] == "end_turn"
    assert "_The MCP server none is not used: " in rig.text()
    assert rig.text().endswith("Yes.")


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ({"name": "old", "type": "sse", "url": "http://localhost", "headers": []}, "'sse' is not supported"),
        ({"name": "half", "args": []}, "missing required field `command`"),
    ],
)
async def test_a_server_of_another_shape_is_refused_by_its_place(
    playing: MakeToolsRig, server: Any, reason: str
) -> None:
    rig = playing("say: Yes.")
    with pytest.raises(RpcFailure, match=r"mcpServers\[0\]") as failure:
        await rig.open(servers=[server])
    assert reason in str(failure.value)


async def test_in_the_mode_plan_only_reading_tools_are_offered_and_used(playing: MakeToolsRig, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    rig = playing(f"{writing(path)}---\n{ADDING}")
    rig.permit(ALLOW)
    session_id = await rig.open(servers=[small()])
    assert await rig.ask("session/set_mode", sessionId=session_id, modeId="plan") == {}
    await rig.prompt(session_id, "Write and add")
    offered = await rig.offered(session_id)
    assert {"mcp__small__add", "offer_plan", "read_file"} <= offered
    assert "mcp__small__note" not in offered
    refused, added = await rig.results(session_id)
    assert refused.startswith("In the mode `plan` only tools that read can be used.")
    assert added == "The sum is 5."
    assert not path.exists()


@pytest.mark.parametrize(("answer", "mode"), [(ALLOW, "ask"), (REJECT, "plan")])
async def test_the_model_offers_a_plan_and_the_users_answer_ends_the_mode_or_not(
    playing: MakeToolsRig, answer: Any, mode: str
) -> None:
    rig = playing("say: First this, then that.\ntool: offer_plan {}\n---\nsay: Good.\n---\nagain:")
    rig.permit(answer)
    session_id = await rig.open()
    await rig.ask("session/set_config_option", sessionId=session_id, configId="mode", value="plan")
    await rig.prompt(session_id, "Plan it")
    (question,) = rig.asked
    assert (question["toolCall"]["title"], question["toolCall"]["kind"]) == ("Carry out this plan", "switch_mode")
    assert rig.updates("current_mode_update")[-1]["currentModeId"] == mode
    options = {each["id"]: each["currentValue"] for each in rig.updates("config_option_update")[-1]["configOptions"]}
    assert options["mode"] == mode
    resumed = await rig.ask("session/resume", sessionId=session_id, cwd="/project", mcpServers=[])
    assert resumed["modes"]["currentModeId"] == mode
    assert [each["id"] for each in resumed["modes"]["availableModes"]] == ["ask", "plan"]
    assert ("offer_plan" in await rig.offered(session_id)) == (mode == "plan")


PLANNED = """
tool: update_plan {"entries": [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "pending"}]}
---
tool: update_plan {"entries": "none"}
---
say: Done.
"""


async def test_the_models_plan_is_shown_without_a_question(playing: MakeToolsRig) -> None:
    rig = playing(PLANNED)
    session_id = await rig.open()
    await rig.prompt(session_id, "Go")
    (plan,) = rig.updates("plan")
    assert [(entry["content"], entry["status"], entry["priority"]) for entry in plan["entries"]] == [
        ("Look", "completed", "medium"),
        ("Write", "pending", "medium"),
    ]
    shown, wrong = await rig.results(session_id)
    assert shown == "The user is shown this list."
    assert wrong.startswith("update_plan: ")
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    assert rig.updates("plan") == [plan]


ASKING = 'tool: ask_user {"question": "Which one?", "options": ["left", "right"]}\n---\nsay: Fine.\n---\nagain:'


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"action": "accept", "content": {"answer": "left"}}, "left"),
        ({"action": "accept", "content": None}, "[The user did not answer.]"),
        ({"action": "decline"}, "[The user did not answer.]"),
        ("nonsense", "The user could not be asked: "),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
async def test_the_model_asks_the_user(playing: MakeToolsRig, answer: Any, result: str, version: int) -> None:
    rig = playing(ASKING)
    forms: list[Any] = []
    rig.answers["elicitation/create"] = lambda params: forms.append(params) or answer
    session_id = await rig.open(FORMS, version=version)
    assert await rig.run(session_id, "Go") == "end_turn"
    (form,) = forms
    assert form["message"] == "Which one?"
    assert form["requestedSchema"]["properties"]["answer"]["enum"] == ["left", "right"]
    (given,) = await rig.results(session_id)
    assert given.startswith(result)


async def test_a_client_without_forms_is_not_asked(playing: MakeToolsRig) -> None:
    rig = playing("say: Yes.")
    session_id = await rig.open()
    await rig.prompt(session_id, "Are you there?")
    assert "ask_user" not in await rig.offered(session_id)


async def test_a_client_of_version_2_has_the_mode_as_an_option_and_the_plan_as_an_update(playing: MakeToolsRig) -> None:
    rig = playing(PLANNED)
    session_id = await rig.open(version=2)
    await rig.ask("session/set_config_option", sessionId=session_id, configId="mode", value="plan")
    await rig.prompt(session_id, "Go")
    shown = await rig.update(session_id, "plan_update")
    assert [entry["content"] for entry in shown["plan"]["entries"]] == ["Look", "Write"]
