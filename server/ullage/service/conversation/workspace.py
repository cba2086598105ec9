"""The workspace: the open conversations, and who listens to their changes. All state of a running server is here."""

from collections.abc import Callable, Sequence

from ullage.model.events import Event
from ullage.model.settings import Settings
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import publish_change
from ullage.service.conversation.work import Job
from ullage.service.ports.ports import Ports


class Workspace(Environment):
    """Conversations by session id, opened on first use and kept until closed. Runs on one event loop.

    `manage` is called with every change after its figures were published; without it nothing happens automatically.
    """

    def __init__(
        self, ports: Ports, settings: Settings | None = None, manage: Callable[[Changed], object] = lambda _: None
    ) -> None:
        super().__init__(ports, settings)
        self._manage = manage
        self._open: dict[str, Conversation] = {}

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The open ones."""
        return tuple(self._open.values())

    def open(self, session_id: str) -> Conversation:
        """The conversation, up to date with the store. Raises `SessionNotFound`."""
        conversation = self._open.get(session_id)
        if conversation is None:
            return self._load(session_id)
        conversation.catch_up()
        return conversation

    def adopt(self, session_id: str, events: Sequence[Event]) -> Conversation:
        """Starts a session whose log begins with these events. `record` publishes it, without more events as well."""
        self.ports.store.create(session_id, self.records(0, events))
        return self._load(session_id)

    def fork(self, position: int, session_id: str, event: Event) -> Conversation:
        """Starts a session that inherits the parent's log up to `position`. `record` publishes it, as with `adopt`."""
        self.ports.store.create(session_id, self.records(position + 1, [event]))
        return self._load(session_id)

    def is_open(self, session_id: str) -> bool:
        """Whether the session is in memory."""
        return session_id in self._open

    def is_prompted(self, session_id: str) -> bool:
        """Whether a prompt turn runs in a session."""
        return session_id in self._open and self._open[session_id].work.is_running(Job.TURN)

    def cancel(self, session_id: str) -> None:
        """Cancels what runs in a session, if it is open: a prompt turn, an automatic run, a compaction by hand, a
        summary that is being prepared."""
        if session_id in self._open:
            self._open[session_id].work.cancel()

    async def end(self, session_id: str) -> None:
        """Cancels what runs in a session, and closes it in memory once nothing writes to it any more."""
        if session_id in self._open:
            await self._open[session_id].work.close()
            self.forget(session_id)

    async def end_all(self) -> None:
        """Ends every open session."""
        for conversation in self.conversations:
            await self.end(conversation.id)

    def forget(self, session_id: str) -> None:
        """Closes a session in memory at once."""
        conversation = self._open.pop(session_id, None)
        if conversation is not None:
            conversation.is_open = False
            conversation.work.cancel()
            conversation.work.drop_preparation()

    def configure(self, settings: Settings) -> None:
        """Takes new settings. Every open conversation adapts to them."""
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
