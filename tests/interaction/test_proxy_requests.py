"""The agent's own requests to the client, as far as the proxy takes part in them: terminals and permissions."""

from pathlib import Path

import pytest

from support.acp_end import Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play, playing
from support.systems import needs_unix_sockets
from ullage.model.message import TextBlock, ToolResultBlock

pytestmark = needs_unix_sockets


async def asked(play: Play, request_id: int, method: str, **params: object) -> Json:
    """Has the agent send a request, and returns it as the client gets it."""
    play.agent.asks(request_id, method, sessionId=ID, **params)
    return await play.client.until(lambda message: message.get("method") == method and message["id"] == request_id)


async def test_what_a_terminal_of_the_clients_shows_is_recorded_as_the_result_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet({"terminal": True})
        prompt = play.prompts("Build it")
        request = await play.agent.gets("session/prompt")
        named = [{"type": "terminal", "terminalId": "term-7"}]
        play.agent.updates(ID, sessionUpdate="tool_call", toolCallId="t1", title="make", kind="execute", content=named)
        await asked(play, 1, "terminal/output", terminalId="term-7")
        play.client.send({"id": 1, "result": {"output": "2 warnings", "truncated": False}})
        assert (await play.agent.gets_answer())["id"] == 1
        play.agent.updates(ID, sessionUpdate="tool_call_update", toolCallId="t1", status="completed")
        play.agent.answers(request, stopReason="end_turn")
        await play.client.answer(prompt)
        *_, results = (await play.client.record()).open(ID).transcript.view
    (result,) = results.content
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock(text="2 warnings"),)


async def test_a_dialog_of_an_agent_that_has_ended_is_taken_back_and_its_answer_reaches_no_other_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet()
        play.prompts("Delete it")
        await play.agent.gets("session/prompt")
        await asked(play, 1, "session/request_permission", toolCall={"toolCallId": "t1"}, options=[])
        await play.lose()
        taken_back = await play.client.until(lambda message: message.get("method") == "$/cancel_request")
        assert taken_back["params"] == {"requestId": 1}
        play.client.send({"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
        again = play.prompts("Go on")
        play.agent.answers(await play.agent.gets("session/load"))
        request = await play.agent.gets("session/prompt")
        await asked(play, 1, "session/request_permission", toolCall={"toolCallId": "t2"}, options=[])
        play.client.send({"id": 1, "result": {"outcome": {"outcome": "cancelled"}}})
        answer = await play.agent.gets_answer()
        assert answer["result"]["outcome"] == {"outcome": "cancelled"}
        play.agent.answers(request, stopReason="end_turn")
        await play.client.answer(again)


async def test_a_mode_that_the_agent_refuses_is_not_set_in_the_session_after_a_handover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet()
        for mode, refused in (("plan", False), ("wild", True)):
            setting = play.client.start("session/set_mode", sessionId=ID, modeId=mode)
            request = await play.agent.gets("session/set_mode")
            if refused:
                play.agent.refuses(request)
                with pytest.raises(RpcFailure):
                    await play.client.answer(setting)
            else:
                play.agent.answers(request)
                await play.client.answer(setting)
        await play.turn()
        _, request = await play.hand_over()
        play.agent.says(ID, "SUMMARY")
        play.agent.answers(request, stopReason="end_turn")
        play.agent.answers(await play.agent.gets("session/new"), sessionId="fresh")
        setting = await play.agent.gets("session/set_mode")
        play.agent.answers(setting)
    assert setting["params"] == {"sessionId": "fresh", "modeId": "plan"}
