"""What all sessions of a running proxy share.

This is the client and the agent with their capabilities, the recorder, and the requests that wait for an answer.
"""

import asyncio
import logging
from collections.abc import Coroutine, Generator, Iterable
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from ullage.acp.client import Client, read_client
from ullage.api.engine import Around, no_around
from ullage.jsonrpc.envelope import RequestId
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.proxy.aside import Aside
from ullage.proxy.open_requests import Asked, Pending
from ullage.proxy.pipe.agent import Agent
from ullage.proxy.pipe.outlet import Outlet
from ullage.proxy.record.recorder import Recorder
from ullage.proxy.shown_compactions import with_compactions
from ullage.proxy.versions.converted import SHAPES, PlainReader, UpdateReader
from ullage.proxy.versions.own_turn import OwnTurn

_log = logging.getLogger(__name__)
# Programs that start an agent which their arguments name.
_LAUNCHERS = frozenset(
    {"npx", "bunx", "node", "bun", "deno", "uvx", "uv", "pipx", "run", "exec", "python", "python3", "env"}
)
# The version of agents of before the first release, which leave it out.
_FIRST = 1


class ProxyOptions(Struct, frozen=True, kw_only=True):
    """The options of the proxy, all but `around` those of the command line.

    `window` is the window in tokens for an agent that reports none. If `hand_over` is true, the proxy compacts by a
    handover even if the agent has a compacting command. `server` is Ullage's MCP server as a client offers it to an
    agent; None to offer none. With `asks_for_compactions` the agent reports its compactions also if the client takes no
    updates of them. With `own_methods` the proxy answers the requests of Ullage's own methods, and the answer to
    `initialize` names these methods; `around` is entered while one of them runs.
    """

    window: int | None = None
    hand_over: bool = False
    server: JsonObject | None = None
    asks_for_compactions: bool = False
    own_methods: bool = False
    around: Around = no_around


class Connection:
    """What the sessions of one client and one agent share. With several agents, each has a connection.

    - `agents`: the connections of all agents of the client, in the order of the command line. The client makes the
      handshake with the first.
    - `number`: the agent's place in that order, from 0.
    - `pending`: the client's requests without an answer, by request id.
    - `asked`: the agent's requests without an answer of the client's, by request id.
    - `withdrawn`: the ids of requests of an agent that has ended. The client's answer to them reaches no agent: another
      process may use the same id.
    - `asides`: the agent's sessions that the client does not see, by the agent's session id.
    - `listed`: the compacted conversations, by the client's ids, that the pages of the current list have shown.
    - `reviving`: held while the agent is started again.
    - `greeting`, `credentials`: the params of the client's `initialize` and `authenticate`, sent again after a
      restart of the agent.
    """

    def __init__(
        self, client: Outlet, agent: Agent, recorder: Recorder, options: ProxyOptions, agents: "list[Connection]"
    ) -> None:
        self.agents = agents
        self.number = len(agents)
        agents.append(self)
        self.client = client
        self.agent = agent
        self.recorder = recorder
        self.options = options
        self.pending: dict[RequestId | None, Pending] = {}
        self.asked: dict[RequestId | None, Asked] = {}
        self.withdrawn: set[RequestId | None] = set()
        self.asides: dict[str, Aside] = {}
        self.listed: set[str] = set()
        self.reviving = asyncio.Lock()
        self.greeting: dict[str, Any] = {}
        self.credentials: dict[str, Any] = {}
        self._name = ""
        self._answered = False
        self.version: Any = _FIRST
        self.shapes = SHAPES[_FIRST]
        # Those of the proxy's own prompts in an agent of version 2, by the agent's session id.
        self.own_turns: dict[str, OwnTurn] = {}
        self._readers: dict[str, UpdateReader | PlainReader] = {}
        self._abilities: dict[str, Any] = {}
        self._making = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def shown(self) -> Client:
        """What the client can show, read from its capabilities."""
        return read_client(self.shapes.greeting(self.greeting).get("clientCapabilities"), None)

    @property
    def to_agent(self) -> JsonObject:
        """The params of the client's `initialize` as the agent gets them."""
        return with_compactions(self.greeting) if self.asks_for_compactions else self.greeting

    @property
    def asks_for_compactions(self) -> bool:
        """Whether the agent reports its compactions to the proxy only, because the client takes no updates of them."""
        # Every client of another version takes them, or is not known.
        is_known = self.greeting.get("protocolVersion", _FIRST) == _FIRST
        return self.options.asks_for_compactions and is_known and not self.shown.shows_compactions

    @property
    def agent_name(self) -> str:
        """The name that the agent sent in its answer to `initialize`, or without one the program in the agent's
        command."""
        return self._name or self.agent.command[0]

    @property
    def is_known(self) -> bool:
        """Whether the agent has answered `initialize`."""
        return self._answered

    @property
    def only_forwards(self) -> bool:
        """Whether the agent has answered `initialize` with a version of the protocol that the proxy does not read. The
        proxy then forwards every byte of both sides, and does nothing else."""
        return self.version not in SHAPES

    @property
    def names(self) -> set[str]:
        """The names by which a user may name the agent: the words of its command line, and what it calls itself."""
        return {*self._words, self.agent_name}

    @property
    def short_name(self) -> str:
        """What the agent calls itself, or before it has answered `initialize` the program in its command line."""
        programs = [word for word in self._words if word not in _LAUNCHERS]
        return self._name or next(iter([*programs, self.agent_name]))

    @property
    def _words(self) -> list[str]:
        return [PurePath(word).stem for word in self.agent.command if not word.startswith("-") and "=" not in word]

    def agent_can(self, ability: str) -> bool:
        """Returns whether the agent declared a capability: `load`, or the name of one of its session capabilities
        (`resume`, `fork`, `close`, …)."""
        if ability == "load":
            return self._abilities.get("loadSession") is True
        return isinstance(as_object(self._abilities.get("sessionCapabilities")).get(ability), dict)

    def learn_agent(self, result: dict[str, Any]) -> None:
        """Stores the agent's name, capabilities and version of the protocol from its result of `initialize`. Logs a
        warning if the proxy does not read that version."""
        self._answered = True
        self.version = result.get("protocolVersion", _FIRST)
        self.shapes = SHAPES.get(self.version, SHAPES[_FIRST])
        result = self.shapes.introduction(result)
        self._abilities = as_object(result.get("agentCapabilities"))
        self._name = as_text(as_object(result.get("agentInfo")).get("name"))
        if self.only_forwards:
            _log.warning(
                "%s answers with version %s of the protocol, and Ullage reads the versions %s: it forwards everything, "
                "and neither records nor compacts",
                self.agent_name,
                self.version,
                " and ".join(map(str, SHAPES)),
            )

    def shown_id(self, request_id: RequestId | None) -> RequestId | None:
        """Returns the id under which the client gets a request of the agent. The first agent's ids are not changed;
        those of the others might be the same."""
        return request_id if self.number == 0 else f"ullage-agent-{self.number}-{request_id!r}"

    @property
    def server(self) -> JsonObject | None:
        """Ullage's MCP server as the agent is offered it, None to offer none."""
        server = self.options.server
        return None if server is None or not self._takes_servers else self.shapes.server(server)

    @property
    def _takes_servers(self) -> bool:
        """Whether the agent takes MCP servers on standard streams: in version 1 every agent does, later it says so."""
        told = as_object(self._abilities.get("mcpCapabilities"))
        return self.version == _FIRST or isinstance(told.get("stdio"), dict)

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Sends the agent a request of the proxy's own, given in the shapes of version 1. Returns its result in these
        shapes. Raises `AgentError`."""
        method, params = self.shapes.request(method, params)
        return self.shapes.opened(await self.agent.request(method, params))

    async def run_turn(self, agent_id: str, params: JsonObject) -> None:
        """Sends the agent a prompt of the proxy's own in its session `agent_id`, and waits for the end of the turn.
        Raises `AgentError`."""
        if self.version == _FIRST:
            await self.request("session/prompt", params)
            return
        turn = self.own_turns[agent_id] = OwnTurn()
        try:
            turn.accept(await self.request("session/prompt", params))
            await turn.ended()
        finally:
            del self.own_turns[agent_id]

    def read(self, agent_id: str, update: JsonObject) -> Iterable[JsonObject]:
        """Returns the updates of version 1 that say the same as an update of the agent's session `agent_id`."""
        reader = self._readers.get(agent_id)
        if reader is None:
            reader = self._readers[agent_id] = self.shapes.reader()
        return reader.read(update)

    def read_rest(self, agent_id: str) -> Iterable[JsonObject]:
        """Returns the last updates of version 1 of the agent's session `agent_id`, because a turn in it has ended."""
        reader = self._readers.pop(agent_id, None)
        return reader.rest() if reader else ()

    def set_aside(self, agent_id: str) -> Aside:
        """Makes the agent's session `agent_id` an aside and returns it. From then on, updates of that session are not
        sent to the client."""
        aside = self.asides[agent_id] = Aside()
        return aside

    @contextmanager
    def making(self) -> Generator[None]:
        """Marks, for the duration of the block, that the proxy waits for a session that it requested from the agent.
        The session's id is unknown until the agent answers."""
        self._making += 1
        try:
            yield
        finally:
            self._making -= 1

    @property
    def hides_unknown(self) -> bool:
        """Whether an update of a session with an unknown id is withheld from the client: the proxy has requested a
        session, and the client has not."""
        awaited = any(pending.method in ("session/new", "session/fork") for pending in self.pending.values())
        return self._making > 0 and not awaited

    def agent_ended(self) -> dict[RequestId | None, Pending]:
        """Drops the asides and the pending requests after the agent's process has ended. Returns the client's requests
        by id, because the agent will not answer them."""
        self.asides.clear()
        self._readers.clear()
        for turn in self.own_turns.values():
            turn.agent_ended()
        self.withdrawn |= self.asked.keys()
        self.asked.clear()
        waiting, self.pending = self.pending, {}
        return waiting

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Runs a coroutine in a task and returns the task.

        The loops that read from the client and the agent must not wait for the task, because it may wait for an answer
        that one of them has to read.
        """
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
