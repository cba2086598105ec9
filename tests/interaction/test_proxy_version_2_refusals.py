"""An agent of version 2 refuses a prompt after it has answered it, by the idle state that ends its turn: the next agent
of the command line answers the prompt, and the client gets neither a second answer nor a second message."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.acp_end import Json
from support.proxy_rig import ProxyRig, running
from support.puppet_agent import Puppet, puppet
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
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
