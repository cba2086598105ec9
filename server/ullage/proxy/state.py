"""The life of one proxied session, as a table of states and events. Pure.

Rule: whatever decides between "pass it on", "hold it back" and "keep it from the client" is a state, and every change
of state is in `TRANSITIONS`. Data of a session (ids, counts, texts) is in `session.py` and decides nothing by itself.

Theory. At any time a session belongs to one of three:

- to nobody (`IDLE`);
- to the client: the agent works for it (`OPENING`, `PROMPTING`), and whatever either side sends passes through;
- to the proxy: it holds back a prompt (`HOLDING`), for which it may give the agent a turn of its own (`COMPACTING`,
  `SUMMARIZING`) or have the session opened again (`REOPENING`).

The client and the proxy never have the agent work in one session at the same time: `HELD` is possible only in `IDLE`
and `LOST`, so a command that needs the agent is refused with `SessionBusy` in the middle of a turn. In `LOST` and
`CLOSED` there is nothing to belong to anybody: the agent's process does not have the session, or the client has closed
it. Only what happens in the session itself changes its state: a copy that writes a summary, or the fresh session that a
handover opens, is an `Aside` of the connection until the conversation moves there (`MOVED`).

Events are of two kinds. `PROMPTED`, `HELD`, `COMPACT`, `SUMMARIZE` and `MOVED` are decisions of the proxy: where the
table has no entry, the decision is refused with an error and the state stays. The others are facts, which come when
they like: each has an entry in every state in which it can come. `CLOSED` has entries, too, because a task may still be
at work for a session that is gone.

The agent's process may end in any state. Then `AGENT_ENDED` leads to `LOST` while the task that holds the prompt is
still running; the table refuses whatever the task decides next, so the task ends with an error and the next prompt
opens the session again.
"""

from collections.abc import Mapping
from enum import Enum

from ullage.model.errors import AgentError, SessionBusy, UllageError


class State(Enum):
    """Whose the session is. The value is used in error messages."""

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
    """What happens to a session."""

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
        # A client that does not wait for its answer: the agent judges.
        Event.PROMPTED: State.OPENING,
        Event.ANSWERED: State.OPENING,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.IDLE: {
        Event.PROMPTED: State.PROMPTING,
        Event.HELD: State.HOLDING,
        # The prompt that was held back has been passed on and is answered already.
        Event.RELEASED: State.IDLE,
        Event.AGENT_ENDED: State.LOST,
        Event.CLOSE: State.CLOSED,
    },
    State.PROMPTING: {
        Event.PROMPTED: State.PROMPTING,
        Event.ANSWERED: State.IDLE,
        # The prompt that was held back has been passed on.
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
        # The agent could not open it: the conversation goes on in a fresh session.
        Event.MOVED: State.HOLDING,
        # Neither worked.
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

# The agent works for the client, or nobody does: a prompt that needs nothing of the proxy passes at once.
PASSING = frozenset({State.OPENING, State.IDLE, State.PROMPTING})
# The agent works for the client.
BUSY = frozenset({State.OPENING, State.PROMPTING})
# The client must not see what the agent sends in the session: a replay of what it has seen, or a summary.
MUTED = frozenset({State.REOPENING, State.SUMMARIZING})
# The agent's process has the session, or is opening it for the client.
OPEN = frozenset(State) - {State.REOPENING, State.LOST, State.CLOSED}


def after(state: State, event: Event) -> State:
    """The state after an event. Raises `SessionBusy` if the agent works for the client, and `AgentError` in any other
    state that the event is not possible in."""
    found = TRANSITIONS[state].get(event)
    if found is None:
        raise refusal(state)
    return found


def refusal(state: State) -> UllageError:
    """The error for a decision that is not possible in a state."""
    if state in BUSY:
        return SessionBusy("the agent is at work in this session; wait for its turn to end, or cancel it")
    return AgentError(f"the session is {state.value}; the next prompt tries again")
