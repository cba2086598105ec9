"""The proxied sessions, each with its messages, its record, its held prompts, and what its agent has reported."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from msgspec import Struct

from ullage.agents.acp import window_of_model
from ullage.agents.agent import Occupancy
from ullage.jsonrpc.envelope import RequestId
from ullage.model.errors import StoreUnavailable
from ullage.model.events import AgentAttached
from ullage.model.json_values import as_list, as_object, as_objects, as_text
from ullage.model.message import Message
from ullage.proxy.compactions import NativeCompaction, ShownCompactions, watched
from ullage.proxy.connection import Connection, Foreground, OwnMethods
from ullage.proxy.lines import Piece, with_params
from ullage.proxy.record import SessionRecord
from ullage.proxy.session_life import PASSING, Event, SessionLife, State
from ullage.proxy.turn_messages import Turn

# Seconds that the end of the proxy waits for the prompts that it holds.
_PATIENCE = 10.0
# If a context is still full after a compaction, the next compaction waits until the context has grown by five per cent,
# a turn or two. Otherwise a compaction that doesn't help would be tried before every prompt.
_TRY_AGAIN = 1.05
# The lists that agents have sent last. An agent sends each of its sessions the same, of tens of kilobytes.
_sent: deque[list[Any]] = deque(maxlen=16)


def _shared(new: list[Any]) -> list[Any]:
    """Returns the list as it was sent before, if it was, so that it is in memory once."""
    known = next((one for one in _sent if one == new), None)
    if known is None:
        _sent.append(new)
    return new if known is None else known


class AgentFacts:
    """The newest facts that the agent has reported about a session.

    - `window`, `occupancy`: in tokens; None until the agent reports them.
    - `config`: the values of the config options, by option id, and `options`: the options as the agent sent them.
    - `reports_usage`: the agent sends `usage_update` itself, and has done so since the last turn but one ended.
    - `reports_model`: the agent has named the model together with a token figure.
    - `has_commands`: the agent has sent a list of slash commands, which may be empty.
    """

    def __init__(self) -> None:
        self.model = ""
        self.window: int | None = None
        self.mode = ""
        self.config: dict[str, Any] = {}
        self.options: list[Any] = []
        self.commands: list[Any] = []
        self.has_commands = False
        self.occupancy: Occupancy | None = None
        self.reports_usage = False
        self.reports_model = False
        # Whether the agent sent `usage_update` since the last turn ended, and whether `occupancy` is not recorded.
        self._has_reported, self._is_new = False, False

    @property
    def command_names(self) -> set[str]:
        """The names of the agent's slash commands, without the slash."""
        return {as_text(command.get("name")) for command in as_objects(self.commands)}

    def take_opened(self, result: dict[str, Any]) -> None:
        """Stores the mode, the config options, the slash commands, the model and the window from the agent's result of
        `session/new`, `load`, `resume` or `fork`. A model or window that is known already is kept."""
        if "availableCommands" in result:
            self._take_commands(result)
        self.take_mode(as_object(result.get("modes")).get("currentModeId"))
        self.take_config(result)
        models = as_object(result.get("models"))
        current = as_text(models.get("currentModelId"))
        if current and not self.model:
            self.model = current
        for model in as_objects(models.get("availableModels")):
            if model.get("modelId") == current and self.window is None:
                self.window = window_of_model(model)

    def take_update(self, update: dict[str, Any]) -> None:
        """Stores the slash commands, the config options or the mode from a session update. Ignores other updates."""
        match update.get("sessionUpdate"):
            case "available_commands_update":
                self._take_commands(update)
            case "config_option_update":
                self.take_config(update)
            case "current_mode_update":
                self.take_mode(update.get("currentModeId"))
            case _:
                pass

    def _take_commands(self, said: dict[str, Any]) -> None:
        self.commands, self.has_commands = _shared(as_list(said.get("availableCommands"))), True

    def take_mode(self, mode: Any) -> None:
        """Stores the mode's id. Ignores a value that is not a string, or ""."""
        self.mode = as_text(mode) or self.mode

    def take_config(self, result: dict[str, Any]) -> None:
        """Stores the values of the config options in an agent's result or update. If one of them is the model, stores
        it as the model, unless the agent reports the model with its figures."""
        self.options = _shared(as_list(result.get("configOptions")) or self.options)
        for option in as_objects(result.get("configOptions")):
            self.config[as_text(option.get("id"))] = option.get("currentValue")
            if option.get("category") == "model" and not self.reports_model:
                self.model = as_text(option.get("currentValue"))

    def take_occupancy(self, occupancy: Occupancy, update: dict[str, Any] | None = None) -> None:
        """Stores the agent's newest figure of the tokens in its context, and the window and model that came with it.

        `update` is the session update that contained the figure, or None if an answer contained it. A model reported
        with a figure is preferred to the model option, which may be an alias.
        """
        self.occupancy, self._is_new = occupancy, True
        if update is not None and update.get("sessionUpdate") == "usage_update":
            self.reports_usage = self._has_reported = True
        self.window = occupancy.size or self.window
        if occupancy.model:
            self.model, self.reports_model = occupancy.model, True

    @property
    def reported(self) -> int | None:
        """The tokens in the context as an agent that reports them has last done; None if it doesn't, or no longer."""
        return self.occupancy.used if self.reports_usage and self.occupancy else None

    def take_new(self) -> Occupancy | None:
        """Returns, once, the newest figure of the tokens in the context."""
        is_new, self._is_new = self._is_new, False
        return self.occupancy if is_new else None

    def end_turn(self) -> None:
        """Notes that a turn has ended. Without a report in it, or after the one before, the agent's last figure is that
        of an earlier context: some agents report at intervals, or stop."""
        self.reports_usage &= self._has_reported
        self._has_reported = False


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt of the client: the id of the request, its line, and its content blocks in ACP's form. `changed` is true
    if the agent gets other content, and `is_in` if the client has its answer, so that it must not get another: version
    2 answers a prompt before the agent works on it, and may refuse it afterwards."""

    id: RequestId | None
    line: bytes
    content: list[Any]
    changed: bool = False
    is_in: bool = False


class HeldPrompts:
    """The tasks that handle held prompts. `order` is the lock of the one that runs, so that one runs at a time; a task
    that opens the session again holds it, too. True while there are any, or while the lock is held."""

    def __init__(self, connection: Connection) -> None:
        self.order = asyncio.Lock()
        self._connection = connection
        self._tasks: dict[asyncio.Task[None], RequestId | None] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks) or self.order.locked()

    @property
    def has_others(self) -> bool:
        """Whether prompts are held besides the one that the current task handles."""
        current = asyncio.current_task()
        return any(task is not current for task in self._tasks)

    def add(
        self, prompt_id: RequestId | None, handling: Coroutine[Any, Any, None], cancelled: Callable[[], object]
    ) -> None:
        """Runs the coroutine `handling` of the prompt in a task. `cancelled` is called if the task is cancelled before
        the prompt is forwarded."""
        task = self._connection.spawn(handling)

        def ended(_: "asyncio.Task[None]") -> None:
            if task in self._tasks:
                del self._tasks[task]
                if task.cancelled():
                    cancelled()

        self._tasks[task] = prompt_id
        task.add_done_callback(ended)

    def leave(self) -> None:
        """Removes the running task, because its prompt is about to be forwarded. From then on, a cancellation of the
        prompt is forwarded to the agent."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.pop(task, None)

    async def ended(self) -> None:
        """Returns once no prompt is held, or after 10 seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_PATIENCE)

    def cancel_all(self) -> bool:
        for task in self._tasks:
            task.cancel()
        return bool(self._tasks)

    def cancel(self, prompt_id: RequestId | None) -> bool:
        """Cancels the held prompt of this id. Returns whether there was one."""
        found = [task for task, known_id in self._tasks.items() if known_id == prompt_id]
        for task in found:
            task.cancel()
        return bool(found)


class ProxiedSession(SessionLife):
    """A proxied session. `id` is the client's session id.

    - `agent_id`: the agent's session id, which differs from `id` after a handover.
    - `facts`: what the agent has reported. Each agent that has had the session has facts of its own.
    - `seed`: text to send before the next prompt, with the summary or messages of another session of the agent.
    - `rounds`: the number of answers in the current turn so far; each was a request to the model.
    - `holds`: the prompts that the proxy holds.
    - `foreground`: the prompts that an agent of version 2 works on.
    - `early`: the prompts that were sent before the session was open, and its record begun.
    - `notices`: those that wait for the end of the agent's answer.
    - `compaction`: the agent's own compaction that runs or has just ended, or None.
    - `left_at`: the tokens in the context after a compaction was last tried.
    - `shown_compactions`: shows the agent's compactions to a client that takes no updates of them.
    """

    def __init__(
        self, connection: Connection, session_id: str, cwd: str, mcp_servers: list[Any], state: State = State.OPENING
    ) -> None:
        super().__init__(state)
        self.connection = connection
        self.id = session_id
        self.agent_id = session_id
        self.cwd = cwd
        self.mcp_servers = mcp_servers
        self.facts: AgentFacts = AgentFacts()
        self._facts_of: dict[int, AgentFacts] = {connection.number: self.facts}
        self.foreground = Foreground()
        self.shown_compactions = ShownCompactions()
        self.seed = ""
        self.rounds = 0
        self.holds = HeldPrompts(connection)
        self._turn = Turn()
        self._replayed: tuple[Message, ...] = ()
        self.early: list[Message] = []
        self.compaction: NativeCompaction | None = None
        self.left_at = 0
        self.notices: list[str] = []

    # The life of the session: each method is an event of the table in `session_life.py`.

    @property
    def passes(self) -> bool:
        """Whether a prompt may be forwarded at once: the state allows it, and no other prompt is held."""
        return self._state in PASSING and not self.holds

    def forwards(self, prompt_id: RequestId | None) -> None:
        """Changes the state, because the client's prompt `prompt_id` is about to be forwarded. Resets `rounds` and
        `seed`. Raises the errors of `prompted`."""
        self.prompted(prompt_id)
        self.rounds = 0
        self.seed = ""

    def moved(self, agent_id: str, seed: str, connection: Connection | None = None) -> None:
        """Moves the conversation to the agent's session `agent_id`, or to that of the agent at another connection.
        `seed` is sent before the next prompt there.

        The session that the conversation leaves becomes an aside if it is open.
        """
        left_open = self._state is State.HOLDING
        self._on(Event.MOVED)
        if left_open and agent_id != self.agent_id:
            self.connection.set_aside(self.agent_id)
        if connection is not None and connection is not self.connection:
            self.connection = connection
            self.facts = self.facts_at(connection)
        opened = self.connection.asides.pop(agent_id, None)
        if opened is not None and opened.commands is not None:
            self.facts.take_update(opened.commands)
        self.agent_id, self.seed = agent_id, seed
        # The figure belongs to the agent's session that the conversation has left.
        self.facts.occupancy = None

    def agent_ended(self) -> tuple[Message, ...]:
        """Marks the session as lost, because the agent's process has ended. Returns the remaining messages of the last
        turn, to be recorded."""
        self._prompts.clear()
        self.foreground.clear()
        self.compaction = None
        return self._last(Event.AGENT_ENDED)

    def close(self) -> tuple[Message, ...]:
        """Closes the session, because the client has closed it or opens it again.

        Returns the remaining messages of the last turn, to be recorded.
        """
        return self._last(Event.CLOSE)

    def _last(self, event: Event) -> tuple[Message, ...]:
        # Messages of an incomplete replay are dropped: the record has them, or gets them when the session is opened
        # again.
        replays = self._state is State.OPENING
        self._on(event)
        rest = self.rest()
        return () if replays else rest

    # The agent's messages.

    def take(self, update: dict[str, Any]) -> tuple[Message, ...]:
        """Takes a session update of the agent. Returns the messages that it completes.

        While the session is being opened, returns nothing: its messages are history, which `take_replayed` returns
        later.
        """
        messages = tuple(self._turn.take(update))
        if self._state is State.OPENING:
            self._replayed += messages
            return ()
        return messages

    def show_terminal(self, terminal_id: str, output: str) -> None:
        """Stores what a terminal shows in which the client runs a command for the agent."""
        self._turn.show_terminal(terminal_id, output)

    def take_replayed(self) -> tuple[Message, ...]:
        """Returns, once, the messages of the history that the agent sent while it opened the session."""
        replayed, self._replayed = (*self._replayed, *self.rest()), ()
        return replayed

    def rest(self) -> tuple[Message, ...]:
        """Ends the turn and returns its remaining messages."""
        return tuple(self._turn.end())

    # The agent's own compactions.

    def watch_compaction(self, update: dict[str, Any]) -> None:
        """Stores what a session update reports about a compaction of the agent's own. Ignores other updates."""
        used = self.facts.occupancy.used if self.facts.occupancy else 0
        self.compaction = watched(self.compaction, update, used)

    def take_compaction(self) -> NativeCompaction | None:
        """Returns, once, the agent's own compaction in the turn that ends, or None."""
        compaction, self.compaction = self.compaction, None
        return compaction

    def take_unasked_compaction(self) -> NativeCompaction | None:
        """Returns, once, the compaction that the agent has just completed by its own decision. Called in the middle of
        a turn.

        Returns None if there is none, or if it is not complete.
        """
        compaction = self.compaction
        return self.take_compaction() if compaction and compaction.completed and not compaction.asked else None

    def mapped(self, piece: Piece) -> Piece:
        """Returns a line of the client with the agent's session id in its params.

        The line is unchanged if both sides use the same id.
        """
        return piece if self.agent_id == self.id else Piece(with_params(piece.data, {"sessionId": self.agent_id}))

    # The record.

    @property
    def written(self) -> SessionRecord | None:
        """The session's record as far as it is written, without waiting for jobs. None if the session is not in the
        store yet."""
        workspace = self.connection.recorder.workspace
        record = SessionRecord(workspace, self.id) if workspace else None
        return record if record and record.exists else None

    async def record(self) -> SessionRecord:
        """Waits until everything so far is recorded, and returns the session's record.

        Raises `StoreUnavailable` if the store failed or nothing was recorded yet.
        """
        record = await self.settled()
        if record is None:
            raise StoreUnavailable("this conversation is not recorded, so it can be neither handed over nor taken back")
        return record

    async def settled(self) -> SessionRecord | None:
        """Waits until everything so far is recorded, and returns the session's record. None if the store failed or
        nothing was recorded yet."""
        workspace = await self.connection.recorder.settled()
        return None if workspace is None else SessionRecord(workspace, self.id)

    async def put(self, job: Callable[[SessionRecord], Awaitable[None]]) -> None:
        """Adds a recording job, which runs after the jobs before it and gets the session's record. Returns at once,
        unless 256 jobs wait already."""
        await self.connection.recorder.put(lambda workspace: job(SessionRecord(workspace, self.id)))

    def facts_at(self, connection: Connection) -> AgentFacts:
        """Returns what the agent at a connection has reported about its session of this conversation."""
        return self._facts_of.setdefault(connection.number, AgentFacts())

    def attachment(self, agent_id: str, at: Connection | None = None) -> AgentAttached:
        """Returns the event that records the name of the agent, or of the agent at the connection `at`, its session id
        `agent_id`, and the window in tokens, if known."""
        connection = at or self.connection
        facts = self.facts_at(connection)
        return AgentAttached(
            agent=connection.agent_name,
            session_id=agent_id,
            window=facts.window or connection.options.window,
            reports=facts.reports_usage,
        )

    def adopt(self, attached: AgentAttached) -> None:
        """Sets `agent_id`, the window, and whether the agent reports its usage, to those of a recorded event."""
        self.agent_id = attached.session_id
        self.facts.window, self.facts.reports_usage = attached.window, attached.reports

    @property
    def is_full(self) -> bool:
        """Whether to compact before the next prompt: the context has reached the compaction threshold, and has grown by
        5 per cent since a compaction was last tried. False while the agent works for the client."""
        record = None if self.busy else self.written
        return record is not None and record.is_full(self.left_at * _TRY_AGAIN, self.facts.reported)


class Sessions:
    """The proxied sessions of a client, by the client's session id. Iterates over the sessions.

    `connection` is that of the agent with which the client has made the handshake.
    `own_methods` answers the client's requests that are for Ullage and not for the agent.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.own_methods = OwnMethods(connection)
        self._by_id: dict[str, ProxiedSession] = {}

    def __iter__(self) -> Iterator[ProxiedSession]:
        return iter(tuple(self._by_id.values()))

    def get(self, session_id: str) -> ProxiedSession | None:
        """Returns the session with this id on the client's side, or None."""
        return self._by_id.get(session_id)

    def by_agent_id(self, agent_id: str, connection: Connection) -> ProxiedSession | None:
        """Returns the session with this id at the agent of a connection, or None."""

        def is_it(session: ProxiedSession) -> bool:
            return session.agent_id == agent_id and session.connection is connection

        session = self._by_id.get(agent_id)
        if session is not None and is_it(session):
            return session
        return next(filter(is_it, self._by_id.values()), None)

    def put(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Adds a session. If there is one with the same client's id, closes that one and returns the remaining messages
        of its last turn, to be recorded."""
        before = self._by_id.get(session.id)
        self._by_id[session.id] = session
        return before.close() if before else ()

    def drop(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Closes and removes a session. Returns the remaining messages of its last turn, to be recorded."""
        if self._by_id.get(session.id) is session:
            del self._by_id[session.id]
        session.connection.read_rest(session.agent_id)
        return session.close()
