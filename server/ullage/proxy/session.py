"""A proxied session: its life, its messages, its place in the store and the prompts that the proxy holds."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from ullage.jsonrpc.envelope import RequestId
from ullage.model.edits import EditTrigger
from ullage.model.errors import StoreUnavailable
from ullage.model.events import AgentAttached
from ullage.model.message import Message, Role
from ullage.proxy.connection import Connection
from ullage.proxy.facts import AgentFacts
from ullage.proxy.held_prompts import HeldPrompts
from ullage.proxy.native_compaction import NativeCompaction, watched
from ullage.proxy.pipe.frames import with_params
from ullage.proxy.pipe.lines import Piece
from ullage.proxy.record.session_record import SessionRecord
from ullage.proxy.record.turn import Turn
from ullage.proxy.session_life import SessionLife
from ullage.proxy.shown_compactions import ShownCompactions
from ullage.proxy.state import PASSING, Event, State
from ullage.proxy.versions.foreground import Foreground

# If a context is still full after a compaction, the next compaction waits until the context has grown by five per cent,
# a turn or two. Otherwise a compaction that doesn't help would be tried before every prompt.
_TRY_AGAIN = 1.05


class ProxiedSession(SessionLife):
    """A proxied session. `id` is the client's session id.

    - `agent_id`: the agent's session id, which differs from `id` after a handover.
    - `facts`: what the agent has reported. Each agent that has had the session has facts of its own.
    - `seed`: text to send before the next prompt, with the summary or messages of another session of the agent.
    - `rounds`: the number of answers in the current turn so far; each was a request to the model.
    - `holds`: the prompts that the proxy holds.
    - `foreground`: the prompts that an agent of version 2 works on.
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
        self._early: tuple[Message, ...] = ()
        self._compaction: NativeCompaction | None = None
        self._tried_at = 0
        self._notices: list[str] = []

    # The life of the session: each method is an event of the table in `state.py`.

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
        self.facts.forget_occupancy()

    def agent_ended(self) -> tuple[Message, ...]:
        """Marks the session as lost, because the agent's process has ended. Returns the remaining messages of the last
        turn, to be recorded."""
        self._prompts.clear()
        self.foreground.clear()
        self._compaction = None
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

    def hold_early(self, message: Message) -> None:
        """Stores a prompt that was sent before the session was open, because the session's record has not begun."""
        self._early += (message,)

    def take_early(self) -> tuple[Message, ...]:
        """Returns, once, the prompts that were sent before the session was open."""
        early, self._early = self._early, ()
        return early

    def rest(self) -> tuple[Message, ...]:
        """Ends the turn and returns its remaining messages."""
        return tuple(self._turn.end())

    def count_rounds(self, messages: Sequence[Message]) -> None:
        """Adds the number of assistant messages among `messages` to `rounds`."""
        self.rounds += sum(message.role is Role.ASSISTANT for message in messages)

    def hold_notice(self, text: str) -> None:
        """Stores a notice while the agent answers. `send_held_notices` sends it after the answer."""
        self._notices.append(text)

    def take_notices(self) -> Iterator[str]:
        """Yields, once, the stored notices."""
        notices, self._notices = self._notices, []
        yield from notices

    # The agent's own compactions.

    def begin_compaction(self, used: int, trigger: EditTrigger, copy: str) -> None:
        """Stores that the agent's own compacting command is about to be sent, with `used` tokens in the context.

        `copy` is the agent's id of a copy of the session, or "".
        """
        self._compaction = NativeCompaction(used_before=used, trigger=trigger, asked=True, copy=copy)

    def watch_compaction(self, update: dict[str, Any]) -> None:
        """Stores what a session update reports about a compaction of the agent's own. Ignores other updates."""
        used = self.facts.occupancy.used if self.facts.occupancy else 0
        self._compaction = watched(self._compaction, update, used)

    def take_compaction(self) -> NativeCompaction | None:
        """Returns, once, the agent's own compaction in the turn that ends, or None."""
        compaction, self._compaction = self._compaction, None
        return compaction

    def take_unasked_compaction(self) -> NativeCompaction | None:
        """Returns, once, the compaction that the agent has just completed by its own decision. Called in the middle of
        a turn.

        Returns None if there is none, or if it is not complete.
        """
        compaction = self._compaction
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
        return record is not None and record.is_full(self._tried_at * _TRY_AGAIN, self.facts.reported)

    def compaction_tried(self, used: int) -> None:
        """Stores that a compaction is tried at `used` tokens, for `is_full`."""
        self._tried_at = used
