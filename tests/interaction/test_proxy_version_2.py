"""Version 2 of the protocol between a client and an agent, with the proxy between them: a prompt is answered once, also
if it is refused. Of a version that the proxy does not read, every byte is forwarded."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from support.acp_end import PATIENCE, Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play
from support.proxy_rig import ProxyRig, running
from support.puppet_agent import Puppet, puppet
from support.systems import needs_unix_sockets
from ullage.model.message import TextBlock, ToolResultBlock
from ullage.proxy.session_life import State

pytestmark = needs_unix_sockets
RUNNING, IDLE = {"state": "running"}, {"state": "idle", "stopReason": "end_turn"}
ABILITIES: Json = {"prompt": {}, "mcp": {"stdio": {}}, "fork": {}, "delete": {}}


class Play2:
    """A play in version 2. `asked` counts the messages of the agent's own that show prompts."""

    def __init__(self, play: Play) -> None:
        self.play, self.client, self.agent = play, play.client, play.agent
        self.asked = 0

    async def greet(self, **opened: Any) -> None:
        self.client.version = self.agent.version = 2
        self.agent.abilities = ABILITIES
        greeting = self.client.start("initialize", protocolVersion=2, info={"name": "c", "version": "1"})
        self.client.start("_test/early")
        await self.agent.gets("_test/early")
        await self.client.answer(greeting)
        opening = self.client.start("session/new", cwd="/work")
        self.agent.answers(await self.agent.gets("session/new"), sessionId=ID, **opened)
        await self.client.answer(opening)

    def state(self, said: Json, session_id: str = ID) -> None:
        self.agent.updates(session_id, sessionUpdate="state_update", **said)

    def says(self, text: str, session_id: str = ID, message_id: str = "a") -> None:
        chunk = {"messageId": message_id, "content": {"type": "text", "text": text}}
        self.agent.updates(session_id, sessionUpdate="agent_message_chunk", **chunk)

    def inserts(self, request: Json) -> str:
        """Lets the agent show a prompt and answer it. Returns the message's id."""
        self.asked += 1
        params, message_id = request["params"], f"u{self.asked}"
        shown = {"messageId": message_id, "content": params["prompt"]}
        self.agent.updates(params["sessionId"], sessionUpdate="user_message", **shown)
        self.agent.answers(request, messageId=message_id)
        return message_id

    async def runs(self, answer: str, used: int = 500) -> Json:
        """Lets the agent run the next prompt from beginning to end. Returns its request."""
        request = await self.agent.gets("session/prompt")
        session_id = request["params"]["sessionId"]
        self.inserts(request)
        self.state(RUNNING, session_id)
        self.says(answer, session_id, f"a{self.asked}")
        self.agent.reports(session_id, used)
        self.state(IDLE, session_id)
        return request

    async def turn(self, text: str, answer: str = "Yes.", used: int = 500) -> Json:
        known = len(self.client.ends())
        asked = self.play.prompts(text)
        request = await self.runs(answer, used)
        await self.client.answer(asked)
        await self.ends(known)
        return request

    async def ends(self, known: int = 0) -> Json:
        await self.client.until(lambda _: len(self.client.ends()) > known)
        return self.client.ends()[-1]

    async def recorded(self) -> list[str]:
        items = (await self.client.record()).open(ID).transcript.items
        return ["".join(b.text for b in item.message.content if isinstance(b, TextBlock)) for item in items]


@pytest.fixture
def play(play: Play) -> Play2:
    return Play2(play)


async def test_a_turn_lasts_until_the_idle_state_and_is_recorded_once(play: Play2) -> None:
    await play.greet()
    asked = play.play.prompts("Hello")
    request = await play.agent.gets("session/prompt")
    play.state(RUNNING)
    play.inserts(request)
    assert await play.client.answer(asked) == {"messageId": "u1"}
    assert play.play.session.state is State.PROMPTING
    play.says("Yes.")
    play.state(IDLE)
    await play.ends()
    await play.play.reached(State.IDLE)
    assert await play.recorded() == ["Hello", "Yes."]
    assert [echo["messageId"] for echo in play.client.updates("user_message")] == ["u1"]


async def test_an_answer_after_the_end_of_the_work_ends_the_turn(play: Play2) -> None:
    await play.greet()
    asked = play.play.prompts("Hello")
    request = await play.agent.gets("session/prompt")
    play.state(RUNNING)
    play.says("Yes.")
    play.state(IDLE)
    await play.ends()
    assert play.play.session.state is State.PROMPTING
    play.agent.answers(request, messageId="u1")
    await play.client.answer(asked)
    await play.play.reached(State.IDLE)
    assert await play.recorded() == ["Hello", "Yes."]


async def test_the_end_of_earlier_work_does_not_end_a_prompt_that_is_not_in(play: Play2) -> None:
    await play.greet()
    first = play.play.prompts("one")
    play.inserts(await play.agent.gets("session/prompt"))
    play.state(RUNNING)
    await play.client.answer(first)
    second = play.play.prompts("two")
    request = await play.agent.gets("session/prompt")
    play.state(IDLE)
    await play.ends()
    assert play.play.session.state is State.PROMPTING
    play.inserts(request)
    play.state(RUNNING)
    play.state(IDLE)
    await play.client.answer(second)
    await play.play.reached(State.IDLE)


async def test_a_refused_prompt_is_answered_with_the_agent_s_error(play: Play2) -> None:
    await play.greet()
    asked = play.play.prompts("Hello")
    play.agent.refuses(await play.agent.gets("session/prompt"))
    with pytest.raises(RpcFailure):
        await play.client.answer(asked)
    await play.play.reached(State.IDLE)
    assert play.client.updates("state_update") == []


async def test_work_that_the_agent_begins_by_itself_is_a_turn(play: Play2) -> None:
    await play.greet()
    await play.turn("Hello")
    play.state(RUNNING)
    play.says("By the way.", message_id="b")
    await play.play.reached(State.PROMPTING)
    play.state(IDLE)
    await play.play.reached(State.IDLE)
    assert (await play.recorded())[-1] == "By the way."


async def test_a_handover_waits_for_the_summary_and_shows_the_prompt_as_the_user_wrote_it(play: Play2) -> None:
    await play.greet()
    await play.turn("Where is the cask?", "In the cellar. " * 10, 2_000)
    asked = play.play.prompts("/compact")
    play.agent.answers(await play.agent.gets("session/fork"), sessionId="copy")
    request = await play.agent.gets("session/prompt")
    assert request["params"]["sessionId"] == "copy"
    play.inserts(request)
    play.state(RUNNING, "copy")
    play.says("SUMMARY: the cask is in the cellar.", "copy")
    assert len(play.client.updates("user_message")) == 1
    play.state(IDLE, "copy")
    closing = await play.agent.gets("session/close")
    play.agent.answers(closing)
    methods: dict[str, Json] = {}
    for _ in range(2):
        message = await play.agent.gets_any()
        methods[message["method"]] = message
    play.agent.answers(methods["session/delete"])
    play.agent.answers(methods["session/new"], sessionId="fresh")
    await play.client.answer(asked)
    assert play.client.updates("compaction_update")[-1]["status"] == "completed"
    assert await play.ends(1) == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "end_turn",
        "_meta": {"ullage": {}},
    }
    play.agent.answers(await play.agent.gets("session/close"))
    known = len(play.client.ends())
    second = play.play.prompts("Go on")
    request = await play.runs("So be it.")
    assert "SUMMARY" in request["params"]["prompt"][0]["text"]
    await play.client.answer(second)
    await play.ends(known)
    assert play.client.updates("user_message")[-1]["content"] == [{"type": "text", "text": "Go on"}]


async def test_the_agent_s_own_command_runs_unseen_before_a_prompt_of_a_full_context(play: Play2) -> None:
    command = {"type": "command", "name": "compact", "description": "Compacts"}
    await play.greet(availableCommands=[command])
    offered = await play.client.until(lambda message: "available_commands_update" in str(message))
    names = [given["name"] for given in offered["params"]["update"]["availableCommands"]]
    assert names == ["compact", "context", "undo"]
    await play.turn("Where is the cask?", "In the cellar.", 7_900)
    asked = play.play.prompts("Go on")
    play.agent.answers(await play.agent.gets("session/fork"), sessionId="copy")
    first, second = await play.agent.gets_both("session/close", "session/prompt")
    play.agent.answers(first)
    assert second["params"]["prompt"] == [{"type": "text", "text": "/compact"}]
    play.inserts(second)
    play.state(RUNNING)
    summary = [{"type": "text", "text": "A cask."}]
    done = {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed", "summary": summary}
    play.agent.updates(ID, **done)
    play.agent.reports(ID, 100)
    play.state(IDLE)
    await play.runs("So be it.")
    await play.client.answer(asked)
    await play.ends(1)
    shown = [echo["content"][0]["text"] for echo in play.client.updates("user_message")]
    assert shown == ["Where is the cask?", "Go on"]
    assert [said["state"] for said in play.client.updates("state_update")][2:] == ["running", "running", "idle"]
    workspace = await play.client.record()
    assert workspace.open(ID).transcript.compactions == 1


async def test_a_command_of_the_proxy_has_the_life_of_any_prompt(play: Play2) -> None:
    await play.greet()
    await play.turn("Hello")
    asked = play.play.prompts("/context")
    answer = await play.client.answer(asked)
    await play.ends(1)
    assert play.client.updates("user_message")[-1]["messageId"] == answer["messageId"]
    assert "Context" in play.client.updates("agent_message_chunk")[-1]["content"]["text"]


async def test_after_a_crash_the_turn_is_idle_with_the_reason(play: Play2) -> None:
    await play.greet()
    await play.turn("Hello")
    asked = play.play.prompts("And now?")
    play.inserts(await play.agent.gets("session/prompt"))
    play.state(RUNNING)
    await play.client.answer(asked)
    await play.client.until(lambda _: len(play.client.updates("state_update")) == 3)
    play.agent.dies()
    ended = await play.ends(1)
    assert ended["stopReason"] == "error"
    assert "ended" in ended["error"]["message"]


async def test_messages_that_replace_and_terminals_are_recorded(play: Play2) -> None:
    await play.greet()
    asked = play.play.prompts("Run it")
    play.inserts(await play.agent.gets("session/prompt"))
    play.state(RUNNING)
    play.says("Let me", message_id="m")
    whole = [{"type": "text", "text": "Let me see."}]
    play.agent.updates(ID, sessionUpdate="agent_message", messageId="m", content=whole)
    play.agent.updates(ID, sessionUpdate="tool_call_update", toolCallId="t", title="ls", kind="execute")
    play.agent.updates(ID, sessionUpdate="terminal_update", terminalId="x", command="ls")
    play.agent.updates(ID, sessionUpdate="terminal_output_chunk", terminalId="x", data="Y2Fzay5weQo=")
    shows = [{"type": "terminal", "terminalId": "x"}]
    play.agent.updates(ID, sessionUpdate="tool_call_update", toolCallId="t", content=shows, status="completed")
    chunk = {"type": "content", "content": {"type": "text", "text": "one file"}}
    play.agent.updates(ID, sessionUpdate="tool_call_content_chunk", toolCallId="t", content=chunk)
    play.state(IDLE)
    await play.client.answer(asked)
    await play.ends()
    await play.play.reached(State.IDLE)
    assert (await play.recorded())[:2] == ["Run it", "Let me see."]
    items = (await play.client.record()).open(ID).transcript.items
    (result,) = [block for item in items for block in item.message.content if isinstance(block, ToolResultBlock)]
    said = "".join(part.text for part in result.content if isinstance(part, TextBlock))
    assert "cask.py" in said
    assert "one file" in said


async def test_a_session_opened_from_the_record_is_replayed_and_says_its_state_first(play: Play2) -> None:
    await play.greet()
    await play.turn("Hello")
    await play.client.record()
    asked = play.client.start("session/resume", sessionId=ID, cwd="/work", replayFrom={"type": "start"})
    play.agent.refuses(await play.agent.gets("session/resume"))
    play.agent.answers(await play.agent.gets("session/resume"), configOptions=[])
    assert await play.client.answer(asked) == {"configOptions": []}
    at = next(n for n, message in enumerate(play.client.messages) if message.get("id") == asked)
    assert play.client.messages[at - 1]["params"]["update"]["state"] == "idle"
    assert play.client.updates("user_message_chunk")[-1]["content"]["text"] == "Hello"


QUOTA: Json = {"code": -32603, "message": "You have hit your usage limit"}


class Both:
    """A client of version 2 and two agents, the first of which has been given a prompt."""

    def __init__(self, client: ProxyRig, first: Puppet, second: Puppet) -> None:
        self.client, self.first, self.second = client, first, second
        self.asked = 0

    async def begin(self) -> None:
        self.client.version = self.first.version = self.second.version = 2
        self.first.name, self.second.name = "first", "second"
        self.first.abilities = self.second.abilities = {"prompt": {}}
        greeting = self.client.start("initialize", protocolVersion=2, info={"name": "c", "version": "1"})
        opening = self.client.start("session/new", cwd="/work")
        self.first.answers(await self.first.gets("session/new"), sessionId="s")
        await self.client.answer(greeting)
        await self.client.answer(opening)
        self.asked = self.client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "Hello"}])
        accept(self.first, await self.first.gets("session/prompt"), "s")
        await self.client.answer(self.asked)

    def answers(self) -> list[Json]:
        return [message for message in self.client.messages if message.get("id") == self.asked]

    async def ends(self) -> Json:
        await self.client.until(lambda _: bool(self.client.ends()))
        (end,) = self.client.ends()
        return end


def accept(agent: Puppet, request: Json, session_id: str) -> None:
    """Lets an agent show a prompt, answer it and begin to work."""
    message_id = f"u-{agent.name}"
    agent.updates(session_id, sessionUpdate="user_message", messageId=message_id, content=request["params"]["prompt"])
    agent.answers(request, messageId=message_id)
    agent.updates(session_id, sessionUpdate="state_update", state="running")


def end(agent: Puppet, session_id: str, **said: object) -> None:
    agent.updates(session_id, sessionUpdate="state_update", state="idle", **said)


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Both]:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with (
        puppet(tmp_path / "one") as (first, command),
        puppet(tmp_path / "two") as (second, other),
        running([*command, "--then", *other], tmp_path) as client,
    ):
        yield Both(client, first, second)


async def test_the_next_agent_answers_and_the_client_sees_one_turn(both: Both) -> None:
    await both.begin()
    end(both.first, "s", stopReason="error", error=QUOTA)
    both.second.answers(await both.second.gets("session/new"), sessionId="there")
    request = await both.second.gets("session/prompt")
    assert request["params"]["sessionId"] == "there"
    assert request["params"]["prompt"][-1] == {"type": "text", "text": "Hello"}
    accept(both.second, request, "there")
    chunk = {"messageId": "a", "content": {"type": "text", "text": "Yes."}}
    both.second.updates("there", sessionUpdate="agent_message_chunk", **chunk)
    end(both.second, "there", stopReason="end_turn")
    assert (await both.ends())["stopReason"] == "end_turn"
    assert len(both.answers()) == 1
    assert [update["messageId"] for update in both.client.updates("user_message")] == ["u-first"]
    told = "".join(update["content"]["text"] for update in both.client.updates("agent_message_chunk"))
    assert told.startswith("first refuses: You have hit your usage limit")
    assert told.endswith("Yes.")
    view = (await both.client.record()).open("s").transcript.view
    assert [message.text for message in view if message.role.value == "user"] == ["Hello"]


async def test_if_no_other_agent_can_the_turn_ends_with_the_refusal(both: Both) -> None:
    await both.begin()
    end(both.first, "s", stopReason="error", error=QUOTA)
    both.second.refuses(await both.second.gets("session/new"))
    assert (await both.ends())["error"] == QUOTA
    assert len(both.answers()) == 1


async def test_if_the_other_agent_refuses_the_prompt_as_a_request_the_turn_ends_with_that_error(both: Both) -> None:
    await both.begin()
    end(both.first, "s", stopReason="error", error=QUOTA)
    both.second.answers(await both.second.gets("session/new"), sessionId="there")
    both.second.refuses(await both.second.gets("session/prompt"))
    assert (await both.ends())["error"] == {"code": -32002, "message": "no"}
    assert len(both.answers()) == 1


async def test_if_the_other_agent_ends_before_it_answers_the_turn_ends_with_an_error_and_no_second_answer(
    both: Both,
) -> None:
    await both.begin()
    end(both.first, "s", stopReason="error", error=QUOTA)
    both.second.answers(await both.second.gets("session/new"), sessionId="there")
    await both.second.gets("session/prompt")
    both.second.updates("there", sessionUpdate="state_update", state="running")
    both.second.dies()
    assert "second ended" in (await both.ends())["error"]["message"]
    assert len(both.answers()) == 1


async def test_cancelling_while_the_next_agent_opens_a_session_ends_the_turn_as_cancelled(both: Both) -> None:
    await both.begin()
    end(both.first, "s", stopReason="error", error=QUOTA)
    opening = await both.second.gets("session/new")
    both.client.send({"method": "session/cancel", "params": {"sessionId": "s"}})
    assert (await both.ends())["stopReason"] == "cancelled"
    both.second.answers(opening, sessionId="there")
    assert len(both.answers()) == 1


async def test_another_error_ends_the_turn(both: Both) -> None:
    await both.begin()
    error: Json = {"code": -32603, "message": "There is no such tool"}
    end(both.first, "s", stopReason="error", error=error)
    assert (await both.ends())["error"] == error


async def test_with_another_version_of_the_protocol_the_proxy_only_forwards_and_says_so_once(
    play: Play2, caplog: pytest.LogCaptureFixture
) -> None:
    play.agent.version = 3
    await play.play.greet()
    asked = play.play.prompts("/compact")
    request = await play.agent.gets("session/prompt")
    assert request["params"]["prompt"][0]["text"] == "/compact"
    play.agent.answers(request, messageId="m1")
    assert await play.client.answer(asked) == {"messageId": "m1"}
    assert await play.client.proxy.connection.recorder.settled() is None
    assert "ullage" not in b"".join(play.client.lines).decode()
    assert not play.play.steps
    told = [record.message for record in caplog.records if "version 3" in record.message]
    assert len(told) == 1


async def test_the_proxy_of_an_agent_that_only_gets_lines_forwarded_ends_as_the_agent_ends(play: Play2) -> None:
    play.agent.version = 3
    await play.play.greet()
    play.play.prompts()
    await play.agent.gets("session/prompt")
    play.agent.dies()
    await asyncio.wait_for(play.client.closed.wait(), PATIENCE)
