"""The life of a proxied session: its state, which is changed only here, by the events of the table in `state.py`."""

from collections.abc import Generator
from contextlib import contextmanager

from ullage.jsonrpc.envelope import RequestId
from ullage.proxy.aside import Aside
from ullage.proxy.state import BUSY, MUTED, OPEN, Event, State, after


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
        """The session's state: what the agent does in it now, and for which side. `state.py` defines the states."""
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
