"""The workspace: the open conversations and the listeners to their changes. A running server has no other state.

`Follower` folds and publishes, within a second, what other processes have appended to open sessions.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from ullage.model.errors import SessionNotFound, StoreError
from ullage.model.events import Event, ModelChanged, Record, SessionCreated, SessionForked
from ullage.model.settings import Settings
from ullage.service.conversation.bus import notice
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import publish_change
from ullage.service.conversation.work import repeated
from ullage.service.ports.models import Ports
from ullage.service.ports.store import StoredSession, StoreNews

log = logging.getLogger(__name__)


class Workspace(Environment):
    """The open conversations of a process by session id. Each is loaded at the first use and kept until it is closed.
    Everything runs on one event loop.

    `manage` is called with every `Changed`, after the figures were published. By default nothing is managed
    automatically.
    """

    def __init__(
        self, ports: Ports, settings: Settings | None = None, manage: Callable[[Changed], object] = lambda _: None
    ) -> None:
        super().__init__(ports, settings)
        self._manage = manage
        self._open: dict[str, Conversation] = {}
        self._untold: list[StoreNews] = []

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        return tuple(self._open.values())

    def open(self, session_id: str) -> Conversation:
        """Returns the conversation of a session, up to date with the store. Raises `SessionNotFound`."""
        self.take_news()
        conversation = self._open.pop(session_id, None)
        if conversation is None:
            return self._load(session_id)
        # The last of the open ones is the one that was used last.
        self._open[session_id] = conversation
        conversation.catch_up()
        return conversation

    def adopt(self, session_id: str, events: Sequence[Event]) -> Conversation:
        """Creates a session whose log begins with these events, in one transaction, and opens it. Nothing is published
        until `record` is called, with or without further events."""
        records = self.records(0, events)
        return self._created(session_id, records, self._draft(session_id, records))

    def adopt_log(
        self, session_id: str, created: SessionCreated, events: Sequence[Event], *, held_back: bool = False
    ) -> Conversation:
        """Creates a session with its whole log in one transaction, so that an interrupted call leaves no session, and
        opens it. The events' usages teach the model's calibration, as if they were recorded one by one. Publishes
        `Changed`, or, if `held_back`, leaves that to `Conversation.publish`.

        An imported log is then folded again, without what other sessions have taught (see `Projection.restore`).
        """
        first, *rest = records = self.records(0, [created, *events])
        conversation = self._draft(session_id, [first])
        conversation.fold(rest, [first])
        learned = conversation.projection.tracker.calibration
        if conversation.transcript.origin is not None:
            conversation.fold_again(records)
        self._created(session_id, records, conversation)
        conversation.keep_compactions()
        self.keep_calibration(conversation.model, learned)
        conversation.keep_snapshot()
        if held_back:
            conversation.hold_back()
        self._changed(Changed(conversation=conversation, events=tuple(events)))
        return conversation

    def fork(
        self, position: int, session_id: str, event: SessionForked, further: Callable[[Conversation], Iterable[Event]]
    ) -> Conversation:
        """Creates a session that inherits its parent's log up to `position`, in one transaction, and opens it. `event`
        names the parent, and `further` returns the events that follow it in the fork as it then is. Nothing is
        published until `record` is called."""
        inherited = self.ports.store.read(event.parent_id, 0, position + 1)
        records = self.records(position + 1, [event])
        draft = self._draft(session_id, [*inherited, *records])
        more = self.records(position + 2, further(draft))
        draft.fold(more, [*inherited, *records])
        return self._created(session_id, [*records, *more], draft)

    def _draft(self, session_id: str, log: Sequence[Record]) -> Conversation:
        models = (
            record.event.model for record in reversed(log) if isinstance(record.event, SessionCreated | ModelChanged)
        )
        projection = self.project(StoredSession(records=tuple(log)), next(models, ""))
        return Conversation(session_id, self, projection, self._changed)

    def _created(self, session_id: str, records: Sequence[Record], draft: Conversation) -> Conversation:
        """Creates a session with these records. `draft` was made from them before, so that nothing can fail after."""
        self.ports.store.create(session_id, records)
        self._open[session_id] = draft
        return draft

    def take_news(self) -> None:
        """Publishes a notice in each open conversation about what happened to the store, such as that its server is
        away; later, if none is open. A conversation that the server has otherwise than it is here is read again."""
        news = self.ports.store_news()
        for session_id in {session_id for one in news for session_id in one.moved}:
            self._read_again(session_id)
        for one in news:
            self.store_away = one.text if one.kind == "offline" else ""
        self._untold += news
        if self._untold and self._open:
            told, self._untold = self._untold, []
            for conversation in self.conversations:
                for one in told:
                    conversation.emit(notice(f"store_{one.kind}", one.text))

    def _read_again(self, session_id: str) -> None:
        conversation = self._open.get(session_id)
        if conversation is None:
            return
        try:
            conversation.read_again()
        except SessionNotFound:
            self.drop(session_id)

    def is_open(self, session_id: str) -> bool:
        return session_id in self._open

    def cancel(self, session_id: str) -> None:
        """Cancels the running work of a session: a prompt turn, a run of automatic management, a compaction by hand, an
        unfinished preparation. Does nothing if the session is not open."""
        if session_id in self._open:
            self._open[session_id].work.cancel()

    async def end(self, session_id: str) -> None:
        """Closes a session: cancels its work, waits for its turn to end, and drops it from memory, if it is open."""
        if session_id in self._open:
            await self._open[session_id].work.close()
            self.drop(session_id)

    async def end_all(self) -> None:
        """Closes every open session, as `end` does."""
        for conversation in self.conversations:
            await self.end(conversation.id)

    def drop_quiet(self, most: int) -> None:
        """Drops from memory the conversations that were not used for longest, so that at most `most` stay. One that is
        at work, or has a preview that can be committed, stays. The guards of the others begin anew with the next use.
        """
        for conversation in self.conversations[: max(0, len(self._open) - most)]:
            if conversation.work.is_quiet and not conversation.guards.previews:
                self.drop(conversation.id)

    def drop(self, session_id: str) -> None:
        """Cancels a session's work and drops it from memory at once, without waiting."""
        self.open_folders.pop(session_id, None)
        conversation = self._open.pop(session_id, None)
        if conversation is not None:
            conversation.is_open = False
            conversation.work.cancel()
            conversation.work.drop_preparation()
            conversation.work.stop_reading()

    def configure(self, settings: Settings) -> None:
        """Replaces the workspace's settings. Every open conversation adapts to them."""
        if settings == self.settings:
            return
        self.settings = settings
        self.learn_limits()

    def learn_limits(self) -> None:
        """Looks the limits of models up again, after a change of what they follow from. All conversations adapt."""
        self._limits.clear()
        for conversation in self.conversations:
            conversation.adapt()

    def _load(self, session_id: str) -> Conversation:
        conversation = Conversation(session_id, self, self.load(session_id), self._changed)
        self._open[session_id] = conversation
        return conversation

    def _changed(self, changed: Changed) -> None:
        """Publishes a change and has it managed. The change is in the log already, so an error of what follows is
        logged and not raised. While the conversation is held back, nothing follows."""
        if changed.conversation.is_held_back:
            return
        try:
            publish_change(changed)
            self._manage(changed)
        except Exception:
            log.exception("session %s: what follows from a change failed", changed.conversation.id)


# Seconds between two looks at the store: short enough for a user who changes windows. If the store is unchanged, a look
# reads one number.
_EVERY = 1.0


class Follower:
    """Checks the store every second for what other processes appended."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._version = workspace.ports.store.version()

    def running(self) -> AbstractContextManager[None]:
        """Checks, on the running event loop, while the block runs."""
        return repeated(self._step, _EVERY)

    def look(self) -> None:
        """Folds and publishes what other processes have appended to open sessions. Raises `StoreError`."""
        version = self._workspace.ports.store.version()
        self._workspace.take_news()
        if version == self._version:
            return
        self._version = version
        for conversation in self._workspace.conversations:
            try:
                conversation.catch_up()
            except SessionNotFound:
                # Another process has deleted the session.
                self._workspace.drop(conversation.id)

    async def _step(self) -> float:
        try:
            self.look()
        except StoreError as error:
            log.warning("Could not look at the store: %s", error)
        return _EVERY
