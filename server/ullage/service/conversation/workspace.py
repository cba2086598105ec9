"""The workspace: the open conversations and the listeners to their changes. A running server has no other state."""

from collections.abc import Callable, Sequence

from ullage.model.events import Event
from ullage.model.settings import Settings
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import publish_change
from ullage.service.conversation.work import Job
from ullage.service.ports.ports import Ports


class Workspace(Environment):
    """The open conversations by session id. Each is loaded at the first use and kept until it is closed. Everything
    runs on one event loop.

    `manage` is called with every `Changed`, after the figures were published. By default nothing is managed
    automatically.
    """

    def __init__(
        self, ports: Ports, settings: Settings | None = None, manage: Callable[[Changed], object] = lambda _: None
    ) -> None:
        super().__init__(ports, settings)
        self._manage = manage
        self._open: dict[str, Conversation] = {}

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The open conversations."""
        return tuple(self._open.values())

    def open(self, session_id: str) -> Conversation:
        """Returns the conversation of a session, up to date with the store. Raises `SessionNotFound`."""
        conversation = self._open.get(session_id)
        if conversation is None:
            return self._load(session_id)
        conversation.catch_up()
        return conversation

    def adopt(self, session_id: str, events: Sequence[Event]) -> Conversation:
        """Creates a session whose log begins with these events. Nothing is published until `record` is called, with
        or without further events."""
        self.ports.store.create(session_id, self.records(0, events))
        return self._load(session_id)

    def fork(self, position: int, session_id: str, event: Event) -> Conversation:
        """Creates a session that inherits its parent's log up to `position`. `event` is the `SessionForked`. Nothing
        is published until `record` is called."""
        self.ports.store.create(session_id, self.records(position + 1, [event]))
        return self._load(session_id)

    def is_open(self, session_id: str) -> bool:
        """Returns whether the session is in memory."""
        return session_id in self._open

    def is_prompted(self, session_id: str) -> bool:
        """Returns whether a prompt turn runs in a session."""
        return session_id in self._open and self._open[session_id].work.is_running(Job.TURN)

    def cancel(self, session_id: str) -> None:
        """Cancels the work of a session if it is open: a prompt turn, an automatic run, a compaction by hand, a
        preparation."""
        if session_id in self._open:
            self._open[session_id].work.cancel()

    async def end(self, session_id: str) -> None:
        """Cancels the work of a session, waits for its prompt turn to end, and drops the session from memory."""
        if session_id in self._open:
            await self._open[session_id].work.close()
            self.forget(session_id)

    def forget(self, session_id: str) -> None:
        """Drops a session from memory at once, without waiting."""
        conversation = self._open.pop(session_id, None)
        if conversation is not None:
            conversation.is_open = False
            conversation.work.cancel()
            conversation.work.drop_preparation()

    def configure(self, settings: Settings) -> None:
        """Replaces the settings. Every open conversation adapts to them."""
        if settings == self.settings:
            return
        self.settings = settings
        self._limits.clear()
        for conversation in self.conversations:
            conversation.adapt()

    def _load(self, session_id: str) -> Conversation:
        conversation = Conversation(session_id, self, self.load(session_id), self._changed)
        self._open[session_id] = conversation
        return conversation

    def _changed(self, changed: Changed) -> None:
        publish_change(changed)
        self._manage(changed)
