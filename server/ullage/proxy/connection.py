"""What all sessions of a client and one agent share.

This is the client and the agent with their capabilities, the recorder, the requests that wait for an answer, the
agent's sessions that the client does not see, and the start of the agent. The proxy reads and makes the shapes of
version 1 of the protocol; `Shapes` converts those of the others.

Ullage's own methods (`_ullage/…`) are answered for the client by the handlers that `ullage acp` has for them, and their
names are added to the agent's answer to `initialize`. The agent gets nothing of these requests.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any
from uuid import uuid4

from msgspec import Raw, Struct
from msgspec.structs import replace

from ullage import __version__
from ullage.acp.connection import DIALECT, Client, read_client, wire_error
from ullage.acp.version_2 import (
    VERSION,
    UpdateReader,
    greeting_as_v1,
    introduction_as_v1,
    opened_as_v1,
    opened_as_v2,
    request_as_v2,
    update_as_v2,
)
from ullage.api.engine import Around, Handler, RequestEngine, no_around
from ullage.api.protocol import AnyMethod, acp_error_object
from ullage.jsonrpc.envelope import ErrorObject, ErrorResponse, LineFraming, RequestId, Response
from ullage.model.errors import AgentError, StoreUnavailable, UllageError
from ullage.model.json_values import JsonObject, as_object, as_plain, as_text, encode_json
from ullage.proxy.agent_process import Agent
from ullage.proxy.compactions import with_compactions
from ullage.proxy.lines import Frame, Outlet, Piece, fields, line, peek, with_result
from ullage.proxy.record import Recorder

IDLE = "idle"
_ECHOES = ("user_message", "user_message_chunk")


class SentPrompt(Struct, kw_only=True, eq=False):
    """A prompt that the agent was sent. `message_id` is "" until it is in the transcript.

    `shown` is the content that the client has sent, if the agent was sent another, and None if it was sent the same.
    `is_shown` is true once the client was sent that content back.
    `failed` is called with the error with which the agent's work on it has ended. It returns whether another agent gets
    the prompt.
    `ran` is true once the agent has worked since, and `over` once that has ended.
    """

    id: RequestId | None
    shown: list[Any] | None = None
    is_shown: bool = False
    failed: Callable[[JsonObject], bool] | None = None
    message_id: str = ""
    ran: bool = False
    over: bool = False


class Foreground:
    """The prompts of one session that have not ended. `state` is the state that the client was sent last."""

    def __init__(self) -> None:
        self.state = IDLE
        self._sent: dict[RequestId | None, SentPrompt] = {}
        self._by_message: dict[str, SentPrompt] = {}

    def __bool__(self) -> bool:
        return bool(self._sent)

    def send(self, prompt: SentPrompt) -> None:
        """Adds a prompt that is about to be sent to the agent."""
        if not self._sent:
            self._by_message.clear()
        self._sent[prompt.id] = prompt

    def accept(self, prompt_id: RequestId | None, message_id: str) -> bool:
        """Takes the agent's answer to a prompt. Returns whether the prompt's work has ended already."""
        prompt = self._sent.get(prompt_id)
        if prompt is None:
            return False
        prompt.message_id = message_id
        self._by_message[message_id] = prompt
        if prompt.over:
            del self._sent[prompt_id]
        return prompt.over

    def refuse(self, prompt_id: RequestId | None) -> None:
        """Takes the agent's refusal of a prompt."""
        self._sent.pop(prompt_id, None)

    def echo(self, message_id: str) -> SentPrompt | None:
        """Returns the prompt that a user's message shows, or None if it shows none. The first message that is not
        known shows the prompt that was sent first."""
        known = self._by_message.get(message_id)
        if known is None:
            known = next((prompt for prompt in self._sent.values() if not prompt.message_id), None)
            if known is not None:
                known.message_id = message_id
                self._by_message[message_id] = known
        return known

    def change(self, state: str) -> list[SentPrompt]:
        """Takes a state of the session. Returns the prompts whose work has ended."""
        if state != IDLE:
            for prompt in self._sent.values():
                prompt.ran = True
            return []
        ended = [prompt for prompt in self._sent.values() if prompt.message_id]
        for prompt in ended:
            del self._sent[prompt.id]
        for prompt in self._sent.values():
            prompt.over = prompt.ran
        return ended

    def clear(self) -> None:
        """Drops all prompts, because the agent has ended."""
        self._sent.clear()
        self._by_message.clear()


class OwnTurn:
    """Follows one prompt of the proxy's own by the agent's answer and updates."""

    def __init__(self) -> None:
        self._foreground = Foreground()
        self._prompt = SentPrompt(id=None)
        self._foreground.send(self._prompt)
        self._ended: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._last: JsonObject = {}

    def accept(self, result: JsonObject) -> None:
        """Takes the agent's result of the prompt."""
        if self._foreground.accept(None, as_text(result.get("messageId"))):
            self._end(self._last)

    def take(self, update: JsonObject) -> bool:
        """Takes an update of the session. Returns whether it is about the prompt, so that the client must not be sent
        it."""
        kind = update.get("sessionUpdate")
        if kind == "state_update":
            self._last = update
            if self._foreground.change(as_text(update.get("state"))):
                self._end(update)
        return kind == "state_update" or (
            kind in _ECHOES and self._foreground.echo(as_text(update.get("messageId"))) is self._prompt
        )

    async def ended(self) -> None:
        """Returns once the agent is idle after the prompt. Raises `AgentError` if the prompt has failed, or if the
        agent has ended."""
        idle = await self._ended
        if idle.get("stopReason") == "error":
            raise AgentError(f"the agent failed: {as_text(as_object(idle.get('error')).get('message'))}")

    def agent_ended(self) -> None:
        """Fails the prompt, because the agent's process has ended."""
        if not self._ended.done():
            self._ended.set_exception(AgentError("the agent ended"))
            # Read here, because the task that waits may be gone.
            self._ended.exception()

    def _end(self, idle: JsonObject) -> None:
        if not self._ended.done():
            self._ended.set_result(idle)


Change = Callable[[JsonObject], JsonObject]
_log = logging.getLogger(__name__)
# Programs that start an agent which their arguments name.
_LAUNCHERS = frozenset(
    {"npx", "bunx", "node", "bun", "deno", "uvx", "uv", "pipx", "run", "exec", "python", "python3", "env"}
)
# The version of agents of before the first release, which leave it out.
_FIRST = 1


class Pending(Struct, frozen=True, kw_only=True):
    """A request of the client that the agent has not answered yet.

    `answered` is called with the answer and forwards it. If `answered` is None, the answer is forwarded unchanged.
    `is_in` is true if the client has the answer of another agent, so that it must not get one of this agent.
    """

    method: str
    is_in: bool = False
    params: dict[str, Any] = {}
    answered: Callable[[Piece, Frame], Awaitable[None]] | None = None


class Asked(Struct, frozen=True, kw_only=True):
    """A request of the agent that the client has not answered yet. `session_id` is the agent's id of the session, and
    `terminal_id` names a terminal of the client's; each is "" if the request names none. `request_id` is the agent's
    id of the request."""

    method: str
    request_id: RequestId | None = None
    session_id: str = ""
    terminal_id: str = ""


class Aside(Struct):
    """A session of the agent that the client does not see.

    It is a copy, a fresh session before its handover is complete, or a session that the conversation has left. `text`
    collects the text of the agent's answers in it. `closing` is the task that has the agent close it,
    None while it is open. `commands` is the last update with the agent's slash commands, or None.
    """

    text: str = ""
    commands: dict[str, Any] | None = None
    closing: "asyncio.Task[None] | None" = None

    def take(self, update: dict[str, Any]) -> None:
        """Adds the text of a session update to `text` if the update is an `agent_message_chunk`, and stores a list of
        slash commands. Ignores other updates."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self.text += as_text(as_object(update.get("content")).get("text"))
            case "available_commands_update":
                self.commands = update
            case _:
                pass


def _same(value: JsonObject) -> JsonObject:
    return value


class PlainReader:
    """Reads updates of version 1, each by itself."""

    def read(self, update: JsonObject) -> Iterable[JsonObject]:
        return (update,)

    def rest(self) -> Iterable[JsonObject]:
        """Returns nothing."""
        return ()


class Shapes(Struct, frozen=True, kw_only=True):
    """How one version's messages become those of version 1, and back.

    - `capabilities`: the field of an agent's result of `initialize` that has its capabilities.
    - `greeting`, `introduction`: the params and the result of `initialize`, as version 1 has them.
    - `opened`, `opened_again`: the result of a request that opens a session, from and to this version.
    - `update`: a session update of the proxy's own as the client gets it, or None to send nothing.
    - `request`: the method and the params of a request of the proxy's own as the agent gets them.
    - `server`: an MCP server that runs on standard streams, as the agent is offered it.
    - `reader`: makes a reader of one session's updates.
    """

    capabilities: str = "agentCapabilities"
    greeting: Change = _same
    introduction: Change = _same
    opened: Change = _same
    opened_again: Change = _same
    update: Callable[[Any], Any] = _same
    request: Callable[[str, JsonObject], tuple[str, JsonObject]] = lambda method, params: (method, params)
    server: Change = _same
    reader: Callable[[], UpdateReader | PlainReader] = PlainReader


def _update(update: Any) -> JsonObject | None:
    return update_as_v2(as_plain(update), lambda: uuid4().hex)


def _server(server: JsonObject) -> JsonObject:
    return {"type": "stdio", **server}


SHAPES = {
    1: Shapes(),
    VERSION: Shapes(
        capabilities="capabilities",
        greeting=greeting_as_v1,
        introduction=introduction_as_v1,
        opened=opened_as_v1,
        opened_again=opened_as_v2,
        update=_update,
        request=request_as_v2,
        server=_server,
        reader=UpdateReader,
    ),
}


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

    def answer(self, request_id: RequestId | None, result: JsonObject) -> None:
        self.client.insert(line(Response(id=request_id, result=result)))

    def refuse(self, request_id: RequestId | None, error: UllageError | ErrorObject) -> None:
        """Answers a request of the client with an error."""
        told = error if isinstance(error, ErrorObject) else acp_error_object(error)
        self.client.insert(line(ErrorResponse(id=request_id, error=told)))

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


async def revive(connection: Connection) -> None:
    """Starts the agent if it doesn't run, and sends it the client's `initialize` again, and `authenticate` if the
    client has sent that to this agent.

    Raises `InvalidRequest` if the program can't be started, and `AgentError` if the agent refuses a request, does not
    answer it in time or ends, or if it is not the client's first and answers with another version of the protocol.
    If this coroutine is cancelled, the start is still completed: an agent that was not greeted can do nothing.
    """
    starting = connection.spawn(_start(connection))
    # Reads the exception of a start after a cancellation, which asyncio would log otherwise.
    starting.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.shield(starting)
    if connection.number and connection.version != connection.agents[0].version:
        raise AgentError(f"{connection.agent_name} answers with another version of the protocol")


async def _start(connection: Connection) -> None:
    async with connection.reviving:
        if connection.agent.alive:
            return
        await connection.agent.start()
        connection.learn_agent(await connection.agent.request("initialize", connection.to_agent))
        if connection.credentials:
            await connection.request("authenticate", connection.credentials)


async def of_agent(connection: Connection, name: str) -> Connection:
    """Returns the connection whose agent calls itself `name`. Agents that have not run yet are started for that.
    Returns the first connection if there is none."""
    ran = [one for one in connection.agents if one.is_known]
    for one in [*ran, *(other for other in connection.agents if not other.is_known)]:
        try:
            if not one.is_known:
                await revive(one)
        except UllageError:
            continue
        if one.agent_name == name:
            return one
    return connection.agents[0]


PREFIX = "_ullage/"
# The agent answers `initialize`.
_DIALECT = replace(DIALECT, opening="")


class OwnMethods:
    """Runs the client's requests of Ullage's own methods, each of which gets one answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._engine: RequestEngine | None = None

    def take(self, piece: Piece) -> None:
        """Takes a line of the client with one of the methods, and answers it in a task."""
        if self._engine is None:
            engine = RequestEngine(LineFraming(), _DIALECT, describe=wire_error)
            engine.around = self._connection.options.around
            engine.connect(self._connection.client)
            for method in _methods():
                engine.add_route(PREFIX + method.name, method.params, self._serve(method))
            self._engine = engine
        self._engine.feed(piece.data)

    def cancel(self, request_id: RequestId | None, piece: Piece) -> bool:
        """Cancels a request by the client's notification. Returns whether the request was one of these."""
        is_ours = self._engine is not None and self._engine.owes(request_id)
        if is_ours:
            self.take(piece)
        return is_ours

    def _serve(self, method: AnyMethod) -> Handler:
        async def handle(params: Any) -> Any:
            workspace = await self._connection.recorder.opened()
            if workspace is None:
                raise StoreUnavailable("the session store failed, and nothing is recorded; start the proxy again")
            return await method.handler(workspace, params)

        return handle


def with_own_methods(piece: Piece, name: str) -> Piece:
    """Returns the agent's answer to `initialize` with Ullage's version and the names of its own methods, as `ullage
    acp` names them. `name` is that of the agent's capabilities in the answer. Returns an answer without a result as it
    is."""
    frame = peek(piece.data)
    if frame is None or not memoryview(frame.result):
        return piece
    capabilities = as_object(fields(frame.result).get(name))
    names = [PREFIX + method.name for method in _methods()]
    told: JsonObject = {**as_object(capabilities.get("_meta")), "ullage": {"version": __version__, "methods": names}}
    changed = Raw(encode_json({**capabilities, "_meta": told}))
    return Piece(with_result(piece.data, {name: changed}))


def _methods() -> tuple[AnyMethod, ...]:
    # Imported here, because the handlers would delay the start.
    from ullage.api.methods import METHODS  # noqa: PLC0415

    return METHODS
