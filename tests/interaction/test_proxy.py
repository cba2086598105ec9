"""The proxy with an agent: what it forwards, what it records, what else it sends the client, and the requests in which
it takes part."""

from pathlib import Path
from typing import Any

import pytest

from support.acp_end import Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play
from support.proxy_rig import ProxyRig, proxy_rig
from support.systems import needs_unix_sockets
from ullage.api.methods import METHODS
from ullage.model.message import Message, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.proxy import record
from ullage.proxy.connection import ProxyOptions

# An agent with all commands of its own, so that the proxy adds nothing.
COMPLETE = {"usage": True, "window": 8_000, "commands": ["context", "compact", "undo"]}


async def view_of(rig: ProxyRig, session_id: str) -> tuple[Message, ...]:
    return (await rig.record()).open(session_id).transcript.view


async def test_every_line_of_either_side_reaches_the_other_byte_for_byte_and_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with proxy_rig(tmp_path, {**COMPLETE, "log": str(log)}) as rig:
        session_id = await rig.open()
        odd = b'{"method":"_zed/unknown", "x" : [1.50, "\\u00e9"],"params":{"sessionId":"?"},"jsonrpc":"2.0"}\r\n'
        rig.send_line(odd)
        await rig.prompt(session_id, "Grüße 🍷")
        await rig.prompt(session_id, "read src/cask.py")
    kept = log.read_bytes().splitlines(keepends=True)
    assert [line[1:] for line in kept if line.startswith(b">")] == rig.lines
    assert odd in [line[1:] for line in kept if line.startswith(b"<")]


async def test_a_prompt_and_its_answer_are_recorded_with_the_tools_that_were_used(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, COMPLETE) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "read src/cask.py")
        asked, call, result, answer = await view_of(rig, session_id)
    assert (asked.text, answer.text) == ("read src/cask.py", "I was told: read src/cask.py")
    assert call.content == (ToolUseBlock(id="t1", name="read_file", input={"path": "src/cask.py"}),)
    assert [block.tool_use_id for block in result.content if isinstance(block, ToolResultBlock)] == ["t1"]


async def test_conversations_that_were_not_used_for_longest_leave_the_memory_and_are_recorded_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_MOST_OPEN", 3)
    async with proxy_rig(tmp_path, COMPLETE) as rig:
        opened = [await rig.open() for _ in range(8)]
        for question in ("first", "second"):
            for session_id in opened:
                await rig.prompt(session_id, question)
        kept = [conversation.id for conversation in (await rig.record()).conversations]
        views = [[message.text for message in await view_of(rig, session_id)] for session_id in opened]
    assert kept == opened[-3:]
    assert views == [["first", "I was told: first", "second", "I was told: first | second"]] * 8


async def test_a_conversation_at_work_stays_in_memory(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, COMPLETE) as rig:
        busy, quiet = await rig.open(), await rig.open()
        for session_id in (busy, quiet):
            await rig.prompt(session_id, "Hello")
        workspace = await rig.record()
        async with workspace.open(busy).work.appending():
            workspace.open(quiet)
            workspace.drop_quiet(0)
            assert [conversation.id for conversation in workspace.conversations] == [busy]
        workspace.drop_quiet(0)
        assert workspace.conversations == ()


async def test_the_count_in_an_agents_answer_becomes_a_usage_update_before_the_answer(
    tmp_path: Path,
) -> None:
    async with proxy_rig(tmp_path, {"quota": True}, ProxyOptions(window=8_000)) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        (told,) = rig.updates("usage_update")
    # The agent's overhead of 500, and both texts at 4 characters a token.
    assert (told["used"], told["size"]) == (500 + (len("Hello") + len("I was told: Hello")) // 4, 8_000)
    assert told["_meta"]["ullage"]["source"] == "reported"
    assert "result" in rig.messages[-1]


@pytest.mark.parametrize("first", ["Hello", "read src/cask.py"])
async def test_a_sum_over_the_requests_of_a_turn_is_not_taken_for_the_context(tmp_path: Path, first: str) -> None:
    async with proxy_rig(tmp_path, {"quota": True}, ProxyOptions(window=8_000)) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, first)
        await rig.prompt(session_id, "read src/cask.py")
    assert all(500 < told["used"] < 600 for told in rig.updates("usage_update"))


async def test_without_usage_from_the_agent_an_estimate_is_shown_as_one(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {}, ProxyOptions(window=8_000)) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        (told,) = rig.updates("usage_update")
    assert told["_meta"]["ullage"]["source"] == "estimated"
    assert told["used"] > 0


async def test_no_size_is_guessed_where_no_window_is_known(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {"quota": True}) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
    assert rig.updates("usage_update") == []
    assert [update["_meta"]["ullage"]["usable"] for update in rig.updates("session_info_update")] == [None]


async def test_commands_that_the_agent_lacks_are_offered_with_its_own(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {"commands": ["review", "context"]}) as rig:
        await rig.open()
        await rig.until(lambda _: len(rig.updates("available_commands_update")) == 2)
    its, ours = rig.updates("available_commands_update")
    assert [command["name"] for command in its["availableCommands"]] == ["review", "context"]
    assert [command["name"] for command in ours["availableCommands"]] == ["review", "context", "compact", "undo"]


async def test_commands_are_offered_for_an_agent_that_offers_none(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {}) as rig:
        await rig.open()
        await rig.until(lambda _: bool(rig.updates("available_commands_update")))
    names: list[Any] = [command["name"] for command in rig.updates("available_commands_update")[0]["availableCommands"]]
    assert names == ["context", "compact", "undo"]


async def test_a_session_from_before_the_proxy_is_recorded_as_the_agent_replays_it(tmp_path: Path) -> None:
    (tmp_path / "sessions.json").write_text('{"old": ["Hello", "Hi there"]}')
    async with proxy_rig(tmp_path, {**COMPLETE, "load": True}) as rig:
        await rig.ask("initialize", protocolVersion=1)
        await rig.ask("session/load", sessionId="old", cwd="/work", mcpServers=[])
        texts = [message.text for message in await view_of(rig, "old")]
    assert texts == ["Hello", "Hi there"]


TOY = {"usage": True, "window": 8_000}
OWN = ProxyOptions(own_methods=True)


async def test_the_answer_to_initialize_names_the_methods_beside_what_the_agent_says(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**TOY, "load": True}, OWN) as rig:
        greeted = await rig.greet()
    told = greeted["agentCapabilities"]["_meta"]["ullage"]
    assert told["methods"] == [f"_ullage/{method.name}" for method in METHODS]
    assert greeted["agentCapabilities"]["loadSession"]
    assert greeted["agentInfo"]["name"] == "toy"


async def test_a_client_looks_up_what_was_said_in_the_agents_session(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**TOY, "log": str(tmp_path / "log")}, OWN) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "The cask is called Berta")
        usage = await rig.ask("_ullage/context/get", sessionId=session_id)
        found = await rig.ask("_ullage/context/search", query="Berta")
        # What the toy reports: 500 of its own, and four characters to a token.
    assert usage["used"] == pytest.approx(517, abs=2)
    assert any("Berta" in hit["snippet"] for hit in found["hits"])
    assert "_ullage" not in (tmp_path / "log").read_text("utf-8")


async def test_unknown_methods_wrong_params_and_unknown_sessions_are_errors_of_ullages(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, TOY, OWN) as rig:
        await rig.greet()
        for method, params, code in (
            ("_ullage/cask", {}, -32601),
            ("_ullage/context/get", {"sessionId": 3}, -32602),
            ("_ullage/context/get", {"sessionId": "nobody"}, -32002),
        ):
            with pytest.raises(RpcFailure) as failure:
                await rig.ask(method, **params)
            assert failure.value.code == code, method


async def test_a_request_of_ullages_own_method_can_be_cancelled(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, TOY, OWN) as rig:
        session_id = await rig.open()
        asked = rig.start("_ullage/context/get", sessionId=session_id)
        rig.send({"method": "$/cancel_request", "params": {"requestId": asked}})
        with pytest.raises(RpcFailure) as failure:
            await rig.answer(asked)
    assert failure.value.code == -32800


async def asked(play: Play, request_id: int, method: str, **params: object) -> Json:
    """Has the agent send a request, and returns it as the client gets it."""
    play.agent.asks(request_id, method, sessionId=ID, **params)
    return await play.client.until(lambda message: message.get("method") == method and message["id"] == request_id)


@needs_unix_sockets
async def test_what_a_terminal_of_the_clients_shows_is_recorded_as_the_result_of_the_call(play: Play) -> None:
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


@needs_unix_sockets
async def test_a_dialog_of_an_agent_that_has_ended_is_taken_back_and_its_answer_reaches_no_other_agent(
    play: Play,
) -> None:
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


@needs_unix_sockets
async def test_a_mode_that_the_agent_refuses_is_not_set_in_the_session_after_a_handover(play: Play) -> None:
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
