"""All state of a running proxy: its two sides, the record, and the sessions."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from ullage.acp.client import Client, read_client
from ullage.jsonrpc.envelope import RequestId
from ullage.model.events import AgentAttached
from ullage.model.json_values import as_object, as_text
from ullage.proxy.pipe.agent import Agent
from ullage.proxy.pipe.outlet import Outlet
from ullage.proxy.record.recorder import Recorder
from ullage.proxy.session import ProxiedSession


class ProxyOptions(Struct, frozen=True, kw_only=True):
    """What a person may say: `window` in tokens where the agent tells none, `hand_over` to have contexts handed over
    though the agent has a command of its own."""

    window: int | None = None
    hand_over: bool = False


class Pending(Struct, frozen=True):
    """A request of the client's that the agent has not answered."""

    method: str
    session_id: str
    params: dict[str, Any]


class Muted(Struct):
    """A session of the agent's that the client knows nothing of, or must not hear now; what is said in it."""

    text: str = ""


class Connection:
    """One client, one agent. `muted` is by the agent's session ids, as is `live`: what its present process has open."""

    def __init__(self, client: Outlet, agent: Agent, recorder: Recorder, options: ProxyOptions) -> None:
        self.client = client
        self.agent = agent
        self.recorder = recorder
        self.options = options
        self.sessions: dict[str, ProxiedSession] = {}
        self.pending: dict[RequestId | None, Pending] = {}
        self.muted: dict[str, Muted] = {}
        self.live: set[str] = set()
        self.opening = 0
        self.reviving = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.greeting: dict[str, Any] = {}
        self.credentials: dict[str, Any] = {}
        self.agent_name = ""
        self.abilities: dict[str, Any] = {}

    def by_agent_id(self, agent_id: str) -> ProxiedSession | None:
        """The session that the agent knows by this id."""
        session = self.sessions.get(agent_id)
        if session is not None and session.agent_id == agent_id:
            return session
        return next((other for other in self.sessions.values() if other.agent_id == agent_id), None)

    def attachment(self, session: ProxiedSession, agent_id: str) -> AgentAttached:
        """Who keeps a session, under an id of the agent's."""
        window = session.window or self.options.window
        return AgentAttached(agent=self.agent_name, session_id=agent_id, window=window)

    def is_open(self, session: ProxiedSession) -> bool:
        """Whether the agent has the session open, or is opening it."""
        return session.loading or session.agent_id in self.live

    @property
    def shown(self) -> Client:
        """What the client shows."""
        return read_client(self.greeting.get("clientCapabilities"), None)

    def agent_can(self, ability: str) -> bool:
        """Whether the agent has announced a session capability (`resume`, `fork`, …), or `load`."""
        if ability == "load":
            return self.abilities.get("loadSession") is True
        return isinstance(as_object(self.abilities.get("sessionCapabilities")).get(ability), dict)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Does something beside the two streams."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def learn_agent(self, result: dict[str, Any]) -> None:
        """Takes in what the agent answers to `initialize`."""
        self.abilities = as_object(result.get("agentCapabilities"))
        self.agent_name = as_text(as_object(result.get("agentInfo")).get("name")) or self.agent.command[0]
