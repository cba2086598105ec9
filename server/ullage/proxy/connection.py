"""What all sessions of a running proxy share: the client, the agent, the record, and what the two have told."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from ullage.acp.client import Client, read_client
from ullage.jsonrpc.envelope import RequestId
from ullage.model.json_values import as_object, as_text
from ullage.proxy.pipe.agent import Agent
from ullage.proxy.pipe.frames import Frame
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.pipe.outlet import Outlet
from ullage.proxy.record.recorder import Recorder


class ProxyOptions(Struct, frozen=True, kw_only=True):
    """The command line's options. `window`: tokens, for an agent that reports none. `hand_over`: compact by a handover
    although the agent has a command of its own."""

    window: int | None = None
    hand_over: bool = False


class Pending(Struct, frozen=True, kw_only=True):
    """A request of the client's that the agent has not answered. `answered` gets the answer and passes it on; without
    it the answer passes as it came."""

    method: str
    params: dict[str, Any] = {}
    answered: Callable[[Piece, Frame], Awaitable[None]] | None = None


class Aside(Struct):
    """A session that the present agent process has open and that is not the client's: a copy, a fresh one before a
    handover is complete, or the one that was left. `text` is what the agent has answered in it."""

    text: str = ""

    def take(self, update: dict[str, Any]) -> None:
        """Collects the text of an answer."""
        if update.get("sessionUpdate") == "agent_message_chunk":
            self.text += as_text(as_object(update.get("content")).get("text"))


class Connection:
    """One client, one agent. `asides` are by the agent's session ids."""

    def __init__(self, client: Outlet, agent: Agent, recorder: Recorder, options: ProxyOptions) -> None:
        self.client = client
        self.agent = agent
        self.recorder = recorder
        self.options = options
        self.pending: dict[RequestId | None, Pending] = {}
        self.asides: dict[str, Aside] = {}
        self.reviving = asyncio.Lock()
        self.greeting: dict[str, Any] = {}
        self.credentials: dict[str, Any] = {}
        self._name = ""
        self._abilities: dict[str, Any] = {}
        self._making = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def shown(self) -> Client:
        """What the client shows."""
        return read_client(self.greeting.get("clientCapabilities"), None)

    @property
    def agent_name(self) -> str:
        """The agent's own name for itself, or its program."""
        return self._name or self.agent.command[0]

    def agent_can(self, ability: str) -> bool:
        """Whether the agent has announced a session capability (`resume`, `fork`, …), or `load`."""
        if ability == "load":
            return self._abilities.get("loadSession") is True
        return isinstance(as_object(self._abilities.get("sessionCapabilities")).get(ability), dict)

    def learn_agent(self, result: dict[str, Any]) -> None:
        """Reads the agent's answer to `initialize`."""
        self._abilities = as_object(result.get("agentCapabilities"))
        self._name = as_text(as_object(result.get("agentInfo")).get("name"))

    def set_aside(self, agent_id: str) -> Aside:
        """From here on the client sees nothing of this session of the agent's."""
        aside = self.asides[agent_id] = Aside()
        return aside

    @contextmanager
    def making(self) -> Generator[None]:
        """While the agent makes a session for the proxy, whose id is not known before the answer."""
        self._making += 1
        try:
            yield
        finally:
            self._making -= 1

    @property
    def hides_unknown(self) -> bool:
        """Whether an update of an unknown session belongs to a session that the agent makes for the proxy."""
        awaited = any(pending.method in ("session/new", "session/fork") for pending in self.pending.values())
        return self._making > 0 and not awaited

    def agent_ended(self) -> dict[RequestId | None, Pending]:
        """Forgets what only the ended process had; returns the requests that it will not answer."""
        self.asides.clear()
        waiting, self.pending = self.pending, {}
        return waiting

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Runs something beside the two pumps, which must never wait for an answer of the agent's to the proxy."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
