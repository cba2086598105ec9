"""A prompt turn with a model in version 2 of the protocol, judged by its official schema."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from support.acp_dialog import scripted_agent
from support.acp_rig import AcpRig

ALLOW = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


@pytest.fixture
async def rig() -> AsyncGenerator[AcpRig]:
    rig = AcpRig(scripted_agent())
    rig.answers["session/request_permission"] = lambda _: ALLOW
    await rig.initialize_version_2()
    yield rig
    await rig.hang_up()
    assert rig.connection.unfinished() == 0
    assert rig.faults == []


@pytest.fixture
async def session_id(rig: AcpRig) -> str:
    return await rig.new_session()


async def ends(rig: AcpRig, reason: str) -> Any:
    return await rig.until(
        lambda message: message.get("params", {}).get("update", {}).get("stopReason") == reason,
    )


async def test_a_turn_is_running_until_it_is_idle_and_waits_for_the_user_in_between(
    rig: AcpRig, session_id: str
) -> None:
    rig.sent.clear()
    answer = await rig.prompt(session_id, "What does the login lack?")
    await ends(rig, "end_turn")
    told = [message["params"] for message in rig.sent if "params" in message]
    kinds = [said["update"]["sessionUpdate"] if "update" in said else "question" for said in told]
    states = [update["state"] for update in rig.updates("state_update")]
    assert states == ["running", "requires_action", "running", "idle"]
    assert kinds.index("user_message") < kinds.index("agent_thought_chunk") < kinds.index("tool_call_update")
    assert "tool_call" not in kinds
    (echo,) = rig.updates("user_message")
    assert answer["messageId"] == echo["messageId"]
    assert all(update["messageId"] for update in rig.updates("agent_message_chunk", "agent_thought_chunk"))


async def test_a_model_that_fails_after_the_prompt_is_in_ends_the_turn_with_its_error(
    rig: AcpRig, session_id: str
) -> None:
    await rig.prompt(session_id, "What does the login lack?")
    await ends(rig, "end_turn")
    assert "messageId" in await rig.prompt(session_id, "And now?")
    idle = (await ends(rig, "error"))["params"]["update"]
    assert idle["error"]["data"] == {"kind": "RequestRefused"}


async def test_close_answers_once_the_turn_that_it_cancels_is_idle(rig: AcpRig, session_id: str) -> None:
    rig.answers.clear()
    await rig.prompt(session_id, "What does the login lack?")
    await rig.until(lambda message: message.get("method") == "session/request_permission")
    closing = rig.start("session/close", sessionId=session_id)
    answered = await rig.until(lambda message: message.get("id") == closing and "result" in message)
    idle = await ends(rig, "cancelled")
    assert rig.sent.index(idle) < rig.sent.index(answered)


@pytest.mark.parametrize("texts", [("What is missing?", "/context"), ("/context", "What is missing?")])
async def test_two_prompts_at_once_each_get_their_message_and_end_in_one_idle_state(
    rig: AcpRig, session_id: str, texts: tuple[str, str]
) -> None:
    asked = [
        rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}]) for text in texts
    ]
    answers = [await rig.answer(number) for number in asked]
    await ends(rig, "end_turn")
    echoes = {echo["messageId"]: echo["content"][0]["text"] for echo in rig.updates("user_message")}
    assert tuple(echoes[answer["messageId"]] for answer in answers) == texts
    assert [update["state"] for update in rig.updates("state_update")].count("idle") == 1
