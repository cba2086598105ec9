"""The life of one proxied session, as a table of states and events. Pure.

Rule: every fact that decides between forwarding a prompt, holding it and hiding the agent's updates is a state, and
every change of state is in `TRANSITIONS`. Other data of a session (ids, counts, texts) is in `session.py` and decides
nothing by itself.

At any time the agent works in a session for one side at most:

- for neither (`IDLE`);
- for the client (`OPENING`, `PROMPTING`): messages of both sides are forwarded;
- for the proxy, which holds a prompt (`HOLDING`), may give the agent a turn of its own (`COMPACTING`, `SUMMARIZING`) or
  have the session opened again (`REOPENING`).

The client and the proxy never have the agent work in one session at the same time: `HELD` is possible only in `IDLE`
and `LOST`, so a command that needs the agent is refused with `SessionBusy` in the middle of a turn. In `LOST` the
agent's process does not have the session; in `CLOSED` the client has closed it. Only events in the session itself
change its state: a copy that writes a summary, or the fresh session of a handover, is an `Aside` of the connection
until the conversation moves there (`MOVED`).

There are two kinds of events. `PROMPTED`, `HELD`, `COMPACT`, `SUMMARIZE` and `MOVED` are decisions of the proxy: if the
table has no entry, the decision is refused with an error and the state stays. The others are facts, which can come at
any time: each has an entry in every state in which it can come. `CLOSED` has entries too, because a task may still be
at work for a closed session.

The agent's process may end in any state. Then `AGENT_ENDED` leads to `LOST` while the task that holds the prompt is
still running. The table refuses the task's next decision, so the task ends with an error, and the next prompt opens the
session again.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from enum import Enum

from ullage.jsonrpc.envelope import RequestId
from ullage.model.errors import AgentError, SessionBusy, UllageError
from ullage.proxy.connection import Aside


class State(Enum):
    """The state of a proxied session. The value is used in error messages."""

    OPENING = "being opened"
    IDLE = "idle"
    PROMPTING = "at work on a prompt"
    HOLDING = "held by the proxy"
    COMPACTING = "being compacted"
    SUMMARIZING = "being summarized"
    REOPENING = "being opened again"
    LOST = "not open in the agent"
    CLOSED = "closed"


class Event(Enum):
    """What happens to a proxied session. The value describes the event."""

    OPENED = "the agent has opened the session"
    REFUSED = "the agent has refused to open the session"
    PROMPTED = "a prompt of the client's goes to the agent"
    ANSWERED = "the agent has answered the last of the client's prompts"
    HELD = "the proxy holds a prompt back"
    RELEASED = "the proxy is done with the prompt that it held back"
    COMPACT = "the agent gets its own compacting command from the proxy"
    SUMMARIZE = "the agent is asked for a summary in the session itself"
    DONE = "the agent's turn for the proxy has ended, however"
    MOVED = "the conversation goes on in another session of the agent's"
    AGENT_ENDED = "the agent's process has ended"
    CLOSE = "the client has closed or replaced the session"


TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.OPENING: {
        Event.OPENED: State.IDLE,
        Event.REFUSED: State.LOST,
        # A client may send a prompt without waiting for the session; the agent decides whether to accept it.
        Event.PROMPTED: State.OPENING,
        Event.ANSWERED: State.OPENING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.IDLE: {
        Event.PROMPTED: State.PROMPTING,
        Event.HELD: State.HOLDING,
        # The held prompt has been forwarded and answered.
        Event.RELEASED: State.IDLE,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.PROMPTING: {
        Event.PROMPTED: State.PROMPTING,
        Event.ANSWERED: State.IDLE,
        # The held prompt has been forwarded.
        Event.RELEASED: State.PROMPTING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.HOLDING: {
        Event.PROMPTED: State.PROMPTING,
        Event.RELEASED: State.IDLE,
        Event.COMPACT: State.COMPACTING,
        Event.SUMMARIZE: State.SUMMARIZING,
        Event.MOVED: State.HOLDING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.COMPACTING: {
        Event.DONE: State.HOLDING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.SUMMARIZING: {
        Event.DONE: State.HOLDING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.REOPENING: {
        Event.OPENED: State.HOLDING,
        # The agent could not open it, so the conversation continues in a fresh session.
        Event.MOVED: State.HOLDING,
        # Neither the session nor a fresh one could be opened.
        Event.RELEASED: State.LOST,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.LOST: {
        Event.HELD: State.REOPENING,
        Event.RELEASED: State.LOST,
        Event.DONE: State.LOST,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.CLOSED: {
        Event.RELEASED: State.CLOSED,
        Event.DONE: State.CLOSED,
        Event.CLOSE: State.CLOSED,
    },
}

# States in which a prompt that needs nothing of the proxy is forwarded at once.
PASSING = frozenset({State.OPENING, State.IDLE, State.PROMPTING})
# States in which the agent works for the client.
BUSY = frozenset({State.OPENING, State.PROMPTING})
# States in which the client must not see the agent's updates: a replay of messages that it has, or a summary.
MUTED = frozenset({State.REOPENING, State.SUMMARIZING})
# States in which the agent's process has the session, or is opening it for the client.
OPEN = frozenset(State) - {State.REOPENING, State.LOST, State.CLOSED}


def after(state: State, event: Event) -> State:
    """Returns the state that follows after an event.

    If the table has no such transition, raises `SessionBusy` if the agent works for the client, and `AgentError`
    otherwise.
    """
    found = TRANSITIONS[state].get(event)
    if found is None:
        raise refusal(state)
    return found


def refusal(state: State) -> UllageError:
    """Returns the error for a decision that the state doesn't allow: `SessionBusy` if the agent works for the client,
    otherwise `AgentError`."""
    if state in BUSY:
        return SessionBusy("the agent is at work in this session; wait for its turn to end, or cancel it")
    return AgentError(f"the session is {state.value}; the next prompt tries again")


class SessionLife:
    """The state of a proxied session, and the client's prompts that the agent has not answered.

    `own_turn` collects the answer when the agent writes a summary in this session.
    """

    def __init__(self, state: State) -> None:
        self.own_turn = Aside()
        self._state = state
        self._prompts: set[RequestId | None] = set()

    @property
    def state(self) -> State:
        """The session's state: what the agent does in it now, and for which side. `State` defines them."""
        return self._state

    @property
    def busy(self) -> bool:
        """Whether the agent works in the session for the client."""
        return self._state in BUSY

    @property
    def muted(self) -> bool:
        """Whether the agent's updates of this session must not be sent to the client now."""
        return self._state in MUTED

    @property
    def is_open(self) -> bool:
        """Whether the agent's process has the session open, or is opening it for the client."""
        return self._state in OPEN

    def opened(self) -> None:
        """Changes the state, because the agent has opened the session: to `PROMPTING` if the client has sent a prompt
        already, otherwise to `IDLE`."""
        self._on(Event.OPENED)
        if self._prompts and self._state is State.IDLE:
            # The client has sent a prompt before the session was open.
            self._on(Event.PROMPTED)

    def refused(self) -> None:
        """Marks the session as lost, because the agent refused to open it. It refused the prompts sent meanwhile, too,
        so they are no longer pending."""
        self._prompts.clear()
        self._on(Event.REFUSED)

    def prompted(self, prompt_id: RequestId | None) -> None:
        """Changes the state, because the client's prompt `prompt_id` is about to be forwarded.
        Raises `AgentError` or `SessionBusy` if the state doesn't allow a prompt.
        """
        self._on(Event.PROMPTED)
        self._prompts.add(prompt_id)

    def answered(self, prompt_id: RequestId | None) -> None:
        """Removes a prompt that the agent has answered from those that are pending. If it was the last one, the turn
        has ended and the state changes."""
        self._prompts.discard(prompt_id)
        if not self._prompts and self.busy:
            self._on(Event.ANSWERED)

    @contextmanager
    def held(self) -> Generator[None]:
        """Holds the session for the proxy during the block. The caller must hold the lock `order`. Raises `SessionBusy`
        or `AgentError` if the state doesn't allow it."""
        self._on(Event.HELD)
        try:
            yield
        finally:
            self._on(Event.RELEASED)

    @contextmanager
    def compacting(self) -> Generator[None]:
        """Sets the state `COMPACTING` during the block, in which the agent runs its own compacting command for the
        proxy.

        The agent's updates are still sent to the client. Raises `AgentError` if the session is not held.
        """
        self._on(Event.COMPACT)
        try:
            yield
        finally:
            self._on(Event.DONE)

    @contextmanager
    def summarizing(self) -> Generator[Aside]:
        """Sets the state `SUMMARIZING` during the block, in which the agent writes a summary in this session.

        Yields the aside that collects the summary's text. The agent's updates are not sent to the client. Raises
        `AgentError` if the session is not held.
        """
        self._on(Event.SUMMARIZE)
        self.own_turn = Aside()
        try:
            yield self.own_turn
        finally:
            self._on(Event.DONE)

    def _on(self, event: Event) -> None:
        self._state = after(self._state, event)
