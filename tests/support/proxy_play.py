"""A client, the proxy and an agent. A test writes every line of client and agent, and gets the steps of their
sessions."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.acp_end import Json
from support.proxy_rig import ProxyRig, running
from support.puppet_agent import Puppet, puppet
from ullage.proxy import session_life
from ullage.proxy.connection import ProxyOptions
from ullage.proxy.session import ProxiedSession
from ullage.proxy.session_life import Event, State, after

Step = tuple[State, Event]
ID = "s"


class Play:
    """A client and an agent with the proxy between them, and the steps that its sessions have taken."""

    def __init__(self, client: ProxyRig, agent: Puppet, steps: list[Step]) -> None:
        self.client = client
        self.agent = agent
        self.steps = steps

    @property
    def session(self) -> ProxiedSession:
        session = self.client.proxy.sessions.get(ID)
        assert session is not None
        return session

    async def reached(self, state: State) -> None:
        """Returns once the session is in this state."""
        async with asyncio.timeout(60):
            while self.session.state is not state:
                await asyncio.sleep(0)

    async def greet(self, capabilities: Json | None = None) -> None:
        asked = self.client.start("initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        greeting = asyncio.ensure_future(self.client.answer(asked))
        opening = self.client.start("session/new", cwd="/work", mcpServers=[])
        self.agent.answers(await self.agent.gets("session/new"), sessionId=ID)
        await self.client.answer(opening)
        await greeting

    async def greet_only(self) -> None:
        asked = self.client.start("initialize", protocolVersion=1, clientCapabilities={})
        self.client.start("_test/next")
        await self.agent.gets("_test/next")
        await self.client.answer(asked)

    def prompts(self, text: str = "Hello") -> int:
        return self.client.start("session/prompt", sessionId=ID, prompt=[{"type": "text", "text": text}])

    def loads(self) -> int:
        return self.client.start("session/load", sessionId=ID, cwd="/work", mcpServers=[])

    async def turn(self, text: str = "Hello", used: int = 500, size: int = 8_000) -> Json:
        """Runs a whole turn and returns the request that the agent got."""
        asked = self.prompts(text)
        request = await self.agent.gets("session/prompt")
        session_id = request["params"]["sessionId"]
        self.agent.says(session_id, "Yes.")
        self.agent.reports(session_id, used, size)
        self.agent.answers(request, stopReason="end_turn")
        await self.client.answer(asked)
        return request

    async def hand_over(self) -> tuple[int, Json]:
        """Runs a handover up to the summary. Returns the id of the client's prompt and the agent's request."""
        asked = self.prompts("/compact")
        return asked, await self.agent.gets("session/prompt")

    async def lose(self) -> None:
        self.agent.dies()
        await self.reached(State.LOST)


@asynccontextmanager
async def playing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: ProxyOptions | None = None
) -> AsyncGenerator[Play]:
    steps: list[Step] = []

    def recorded(state: State, event: Event) -> State:
        found = after(state, event)
        steps.append((state, event))
        return found

    monkeypatch.setattr(session_life, "after", recorded)
    async with puppet(folder) as (agent, command), running(command, folder, options) as client:
        yield Play(client, agent, steps)
    answered = [message["id"] for message in client.messages if "method" not in message]
    assert len(answered) == len(set(answered)), "a request got two answers"
