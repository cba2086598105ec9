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

from collections.abc import Mapping
from enum import Enum

from ullage.model.errors import AgentError, SessionBusy, UllageError


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
