"""Proxied sessions: everything that belongs to one, written here alone, and the sessions of a connection."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ullage.jsonrpc.envelope import RequestId
from ullage.model.edits import EditTrigger
from ullage.model.errors import StoreUnavailable
from ullage.model.events import AgentAttached
from ullage.model.message import Message, Role
from ullage.proxy.connection import Aside, Connection
from ullage.proxy.facts import AgentFacts
from ullage.proxy.native_compaction import NativeCompaction, watched
from ullage.proxy.pipe.frames import with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.record.turn import Turn
from ullage.proxy.state import BUSY, MUTED, OPEN, PASSING, Event, State, after

# A context that stayed full after a compaction is not compacted again before it has grown by this share: five per cent
# is a turn or two, so that a compaction that achieves nothing is not tried before every prompt.
_TRY_AGAIN = 1.05


class ProxiedSession:
    """A session by the client's id. `agent_id` is the agent's own, which differs after a handover. `seed` precedes the
    next prompt, so that the agent knows what was said in another session of its own. `rounds` counts the answers of the
    present turn: each was a request to the model. `acts` are the tasks of prompts that are held back."""

    def __init__(
        self, connection: Connection, session_id: str, cwd: str, mcp_servers: list[Any], state: State = State.OPENING
    ) -> None:
        self.connection = connection
        self.id = session_id
        self.agent_id = session_id
        self.cwd = cwd
        self.mcp_servers = mcp_servers
        self.facts = AgentFacts()
        self.own_turn = Aside()
        self.seed = ""
        self.rounds = 0
        self.acts: set[asyncio.Task[None]] = set()
        self.order = asyncio.Lock()
        self._state = state
        self._prompts: set[RequestId | None] = set()
        self._turn = Turn()
        self._replayed: tuple[Message, ...] = ()
        self._early: tuple[Message, ...] = ()
        self._compaction: NativeCompaction | None = None
        self._tried_at = 0
        self._notices: list[str] = []

    # The life of the session: each verb is an event of the table in `state.py`.

    @property
    def state(self) -> State:
        """Where the session is in its life."""
        return self._state

    @property
    def busy(self) -> bool:
        """Whether the agent works for the client."""
        return self._state in BUSY

    @property
    def muted(self) -> bool:
        """Whether the client must not see what the agent sends in this session."""
        return self._state in MUTED

    @property
    def is_open(self) -> bool:
        """Whether the agent's process has the session, or is opening it for the client."""
        return self._state in OPEN

    @property
    def passes(self) -> bool:
        """Whether a prompt may go to the agent at once: the proxy holds none back, and no other waits."""
        return self._state in PASSING and not self.order.locked() and not self.acts

    def opened(self) -> None:
        """The agent has opened the session."""
        self._on(Event.OPENED)
        if self._prompts and self._state is State.IDLE:
            # The client did not wait.
            self._on(Event.PROMPTED)

    def refused(self) -> None:
        """The agent has refused to open it, and so every prompt that was sent in the meantime."""
        self._prompts.clear()
        self._on(Event.REFUSED)

    def prompted(self, prompt_id: RequestId | None) -> None:
        """A prompt goes to the agent, with the seed if there is one. Raises `AgentError` if the session is not open."""
        self._on(Event.PROMPTED)
        self._prompts.add(prompt_id)
        self.rounds = 0
        self.seed = ""

    def answered(self, prompt_id: RequestId | None) -> None:
        """The agent has answered a prompt."""
        self._prompts.discard(prompt_id)
        if not self._prompts and self.busy:
            self._on(Event.ANSWERED)

    @contextmanager
    def held(self) -> Generator[None]:
        """The proxy has the session. Whoever takes it has `order`. Raises `SessionBusy`, `AgentError`."""
        self._on(Event.HELD)
        try:
            yield
        finally:
            self._on(Event.RELEASED)

    @contextmanager
    def compacting(self) -> Generator[None]:
        """The agent carries out its own compacting command for the proxy; the client sees it."""
        self._on(Event.COMPACT)
        try:
            yield
        finally:
            self._on(Event.DONE)

    @contextmanager
    def summarizing(self) -> Generator[Aside]:
        """The agent writes a summary in this session, for the proxy alone."""
        self._on(Event.SUMMARIZE)
        self.own_turn = Aside()
        try:
            yield self.own_turn
        finally:
            self._on(Event.DONE)

    def moved(self, agent_id: str, seed: str) -> None:
        """The conversation goes on in another session of the agent's. The one it leaves is set aside, if it is open."""
        left_open = self._state is State.HOLDING
        self._on(Event.MOVED)
        self.connection.asides.pop(agent_id, None)
        if left_open and agent_id != self.agent_id:
            self.connection.set_aside(self.agent_id)
        self.agent_id, self.seed = agent_id, seed
        self.facts.forget_occupancy()

    def agent_ended(self) -> tuple[Message, ...]:
        """The agent's process has ended; the messages of its last turn."""
        self._prompts.clear()
        self._compaction = None
        return self._last(Event.AGENT_ENDED)

    def close(self) -> tuple[Message, ...]:
        """The client has closed the session, or opens it anew; the messages of its last turn."""
        return self._last(Event.CLOSE)

    def _last(self, event: Event) -> tuple[Message, ...]:
        # Part of a history is no turn: the record has it, or gets it when the session is opened again.
        replays = self._state is State.OPENING
        self._on(event)
        rest = self.rest()
        return () if replays else rest

    def _on(self, event: Event) -> None:
        self._state = after(self._state, event)

    # What the agent says in it.

    def take(self, update: dict[str, Any]) -> tuple[Message, ...]:
        """Folds an update; the messages that it completes. While the session is opened they are history, which waits
        until `take_replayed`."""
        messages = tuple(self._turn.take(update))
        if self._state is State.OPENING:
            self._replayed += messages
            return ()
        return messages

    def take_replayed(self) -> tuple[Message, ...]:
        """The history that the agent has sent while it opened the session, once."""
        replayed, self._replayed = (*self._replayed, *self.rest()), ()
        return replayed

    def hold_early(self, message: Message) -> None:
        """Keeps a prompt that was sent before the session was open, and so before its record begins."""
        self._early += (message,)

    def take_early(self) -> tuple[Message, ...]:
        """The prompts that were sent before the session was open, once."""
        early, self._early = self._early, ()
        return early

    def rest(self) -> tuple[Message, ...]:
        """The messages of a turn that is over, as far as they were not taken."""
        return tuple(self._turn.end())

    def count_rounds(self, messages: Sequence[Message]) -> None:
        """Counts the answers among messages of the present turn."""
        self.rounds += sum(message.role is Role.ASSISTANT for message in messages)

    def hold_notice(self, text: str) -> None:
        """Keeps a notice in words until the end of the answer."""
        self._notices.append(text)

    def take_notices(self) -> Iterator[str]:
        """The notices that have waited, once."""
        notices, self._notices = self._notices, []
        yield from notices

    # A compaction of the agent's own.

    def begin_compaction(self, used: int, trigger: EditTrigger, copy: str) -> None:
        """The agent's command is about to be given, with `used` tokens in the context. `copy`: see
        `NativeCompaction`."""
        self._compaction = NativeCompaction(used_before=used, trigger=trigger, asked=True, copy=copy)

    def watch_compaction(self, update: dict[str, Any]) -> None:
        """Reads what an update reports of a compaction."""
        used = self.facts.occupancy.used if self.facts.occupancy else 0
        self._compaction = watched(self._compaction, update, used)

    def take_compaction(self) -> NativeCompaction | None:
        """The compaction of the turn that ends, once."""
        compaction, self._compaction = self._compaction, None
        return compaction

    def take_unasked_compaction(self) -> NativeCompaction | None:
        """The compaction that the agent has just completed by itself in the middle of a turn, once."""
        compaction = self._compaction
        return self.take_compaction() if compaction and compaction.completed and not compaction.asked else None

    def mapped(self, piece: Piece) -> Piece:
        """A line of the client's with the agent's id of the session; untouched if that is the client's."""
        return piece if self.agent_id == self.id else Piece(with_params(piece.data, {"sessionId": self.agent_id}))

    # The record.

    @property
    def written(self) -> SessionRecord | None:
        """The record as far as it is written; None before anything is."""
        workspace = self.connection.recorder.workspace
        record = SessionRecord(workspace, self.id) if workspace else None
        return record if record and record.exists else None

    async def record(self) -> SessionRecord:
        """The record, with everything so far in it. Raises `StoreUnavailable` if nothing is recorded."""
        workspace = await self.connection.recorder.settled()
        if workspace is None:
            raise StoreUnavailable("this conversation is not recorded, so it can be neither handed over nor taken back")
        return SessionRecord(workspace, self.id)

    async def put(self, job: Callable[[SessionRecord], Awaitable[None]]) -> None:
        """Has a job done on the record, after those before it. Waits only if too many wait."""
        await self.connection.recorder.put(lambda workspace: job(SessionRecord(workspace, self.id)))

    def attachment(self, agent_id: str) -> AgentAttached:
        """The event that says which agent keeps the session, under which id of its own, with which window."""
        window = self.facts.window or self.connection.options.window
        return AgentAttached(agent=self.connection.agent_name, session_id=agent_id, window=window)

    def adopt(self, attached: AgentAttached) -> None:
        """Takes up where the record says that the session is: under another id of the agent's."""
        self.agent_id, self.facts.window = attached.session_id, attached.window

    @property
    def is_full(self) -> bool:
        """Whether the context has reached the threshold and has grown since a compaction was last tried."""
        record = None if self.busy else self.written
        return record is not None and record.is_full(at_least=self._tried_at * _TRY_AGAIN)

    def compaction_tried(self, used: int) -> None:
        """A compaction is tried at so many tokens."""
        self._tried_at = used

    # Prompts that are held back.

    def act(self, coroutine: Coroutine[Any, Any, None], cancelled: Callable[[], object]) -> None:
        """Sees to a held prompt beside the pumps. `cancelled` is called if it is cancelled before it is passed on."""
        task = self.connection.spawn(coroutine)

        def ended(_: "asyncio.Task[None]") -> None:
            if task in self.acts:
                self.acts.discard(task)
                if task.cancelled():
                    cancelled()

        self.acts.add(task)
        task.add_done_callback(ended)

    def leave_act(self) -> None:
        """The prompt of the running task is the agent's from here on: what cancels it is the agent's, too."""
        self.acts -= {asyncio.current_task()}

    def cancel_acts(self) -> bool:
        """Cancels the prompts that are held back; whether there were any."""
        for task in self.acts:
            task.cancel()
        return bool(self.acts)


class Sessions:
    """The sessions of a connection, by the client's ids."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._by_id: dict[str, ProxiedSession] = {}

    def __iter__(self) -> Iterator[ProxiedSession]:
        return iter(tuple(self._by_id.values()))

    def get(self, session_id: str) -> ProxiedSession | None:
        """The session that the client knows by this id."""
        return self._by_id.get(session_id)

    def by_agent_id(self, agent_id: str) -> ProxiedSession | None:
        """The session that the agent knows by this id."""
        session = self._by_id.get(agent_id)
        if session is not None and session.agent_id == agent_id:
            return session
        return next((other for other in self._by_id.values() if other.agent_id == agent_id), None)

    def put(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Adds a session. One of the same id that was there is closed; the messages of its last turn."""
        before = self._by_id.get(session.id)
        self._by_id[session.id] = session
        return before.close() if before else ()

    def drop(self, session: ProxiedSession) -> tuple[Message, ...]:
        """Closes a session; the messages of its last turn."""
        if self._by_id.get(session.id) is session:
            del self._by_id[session.id]
        return session.close()
