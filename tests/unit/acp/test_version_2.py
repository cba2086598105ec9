"""A client that asks for version 2 of the protocol. Every message of the agent must fit the official schema of it."""

from typing import Any

import pytest

from support.acp_rig import AcpRig, MakeRig
from support.lsp_client import RpcFailure
from ullage.model.settings import ProviderSettings, Settings

START = {"type": "start"}


@pytest.fixture
async def session_id(rig: AcpRig) -> str:
    await rig.initialize_version_2()
    return await rig.new_session()


def states(rig: AcpRig) -> list[Any]:
    told = rig.updates("state_update")
    return [(update["state"], *filter(None, [update.get("stopReason")])) for update in told]


async def ends(rig: AcpRig, session_id: str, text: str) -> Any:
    """Sends a prompt, waits until the session is idle after it, and returns the prompt's answer."""
    idle = states(rig).count(("idle", "end_turn"))
    answer = await rig.prompt(session_id, text)
    await rig.until(lambda _: states(rig).count(("idle", "end_turn")) > idle)
    return answer


async def test_what_the_agent_can_do_is_said_in_the_shapes_of_version_2(rig: AcpRig) -> None:
    result = await rig.initialize_version_2()
    assert result["info"]["name"] == "ullage"
    session = result["capabilities"]["session"]
    assert session == {
        "prompt": {"image": {}, "embeddedContext": {}},
        "delete": {},
        "fork": {},
        "title": {},
        "additionalDirectories": {},
        "mcp": {"stdio": {}, "http": {}},
    }
    assert "_ullage/context/get" in result["capabilities"]["_meta"]["ullage"]["methods"]
    assert [(method["type"], method["methodId"]) for method in result["authMethods"]] == [("agent", "key")]


async def test_a_new_session_has_typed_commands_and_named_options(rig: AcpRig, session_id: str) -> None:
    (told,) = rig.updates("available_commands_update")
    assert {command["type"] for command in told["availableCommands"]} == {"command"}
    hints = [command["input"]["type"] for command in told["availableCommands"] if "input" in command]
    assert set(hints) == {"text"}
    options = await rig.ask(
        "session/set_config_option", sessionId=session_id, configId="auto_compact", type="boolean", value=False
    )
    found = {option["configId"]: option["currentValue"] for option in options["configOptions"]}
    assert found["auto_compact"] is False


async def test_a_command_is_answered_when_it_is_inserted_and_idle_ends_it(rig: AcpRig, session_id: str) -> None:
    answer = await ends(rig, session_id, "/context")
    (echo,) = rig.updates("user_message")
    assert answer == {"messageId": echo["messageId"]}
    assert echo["content"] == [{"type": "text", "text": "/context"}]
    assert states(rig) == [("running",), ("idle", "end_turn")]
    (text,) = rig.updates("agent_message_chunk")
    assert text["messageId"] != echo["messageId"]


async def test_a_prompt_that_gets_into_no_transcript_is_an_error(rig: AcpRig, session_id: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.prompt(session_id, "hello")
    assert failure.value.data == {"kind": "NoModelConfigured"}
    await rig.until(lambda _: states(rig) == [("running",), ("idle", "error")])
    with pytest.raises(RpcFailure) as unknown:
        await rig.prompt("nobody", "hello")
    assert unknown.value.code == -32002
    assert rig.updates("user_message") == []


async def test_a_compaction_and_its_notice_are_shown_as_they_are(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, *["words " * 400] * 8)
    await ends(rig, session_id, "/compact")
    assert rig.updates("compaction_update")[-1]["status"] == "completed"
    assert rig.updates("tool_call", "tool_call_update") == []


async def test_resume_replays_if_it_is_asked_to_and_says_the_state_before_it_answers(
    rig: AcpRig, session_id: str
) -> None:
    await rig.say(session_id, "How old is the cask?", "Forty years.")
    rig.sent.clear()
    await rig.ask("session/resume", sessionId=session_id, cwd="/project")
    assert rig.updates("user_message_chunk") == []
    assert states(rig) == [("idle",)]
    rig.sent.clear()
    asked = rig.start("session/resume", sessionId=session_id, cwd="/project", replayFrom=START)
    await rig.until(lambda message: message.get("id") == asked)
    before = rig.sent[: next(at for at, message in enumerate(rig.sent) if message.get("id") == asked)]
    kinds = [message["params"]["update"]["sessionUpdate"] for message in before]
    assert kinds == ["user_message_chunk", "agent_message_chunk", "state_update"]


async def test_a_cursor_that_is_not_known_is_refused(rig: AcpRig, session_id: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/resume", sessionId=session_id, cwd="/project", replayFrom={"type": "message"})
    assert failure.value.code == -32602


@pytest.mark.parametrize("method", ["authenticate", "session/load", "session/set_mode"])
async def test_the_methods_of_version_1_alone_are_gone(rig: AcpRig, session_id: str, method: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask(method, sessionId=session_id, cwd="/project", mcpServers=[], methodId="key")
    assert failure.value.code == -32601


async def test_version_1_has_no_methods_of_version_2(rig: AcpRig) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("auth/login", methodId="key")
    assert failure.value.code == -32601


async def test_logging_in_without_a_key_says_so_and_logging_out_is_nothing(make_rig: MakeRig) -> None:
    keyed = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:9/v1", key_env="KEY_OF_NO_SERVER")
    rig = make_rig(Settings(provider="keyed", providers={"keyed": keyed}))
    await rig.initialize_version_2()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("auth/login", methodId="key")
    assert failure.value.code == -32000
    assert await rig.ask("auth/logout") == {}


async def test_sessions_are_listed_closed_and_deleted(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, "hello", "hello")
    assert [one["sessionId"] for one in (await rig.ask("session/list"))["sessions"]] == [session_id]
    assert await rig.ask("session/close", sessionId=session_id) == {}
    assert await rig.ask("session/delete", sessionId=session_id) == {}
