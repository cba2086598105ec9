"""Holds one session of a workspace of its own, in a thread of its own. The embeddable classes are built on it."""

import weakref
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from msgspec.structs import replace

from ullage.app.compose import workspace_on
from ullage.embed.loop import LoopThread
from ullage.embed.results import CompactionResult
from ullage.model.message import Message
from ullage.model.settings import Settings, SummarySettings
from ullage.model.updates import Update
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Summarizer
from ullage.store.sqlite_store import open_store
from ullage.transcript.fold import EditInfo

T = TypeVar("T")
OnUpdate = Callable[[str, Update], None]


class Host:
    """Owns the thread, the store and the workspace. All work in them goes through `run` and `call`."""

    def __init__(
        self,
        settings: Settings,
        summarizer: Summarizer | None = None,
        store: Path | str | None = None,
        on_update: OnUpdate | None = None,
    ) -> None:
        thread = LoopThread()
        # A host that is dropped without being closed must end its thread.
        self._closing = weakref.finalize(self, thread.stop)
        self._thread = thread
        if store is None:
            store = Path(thread.enter(lambda: TemporaryDirectory(prefix="ullage-"))) / "context.db"
        path = Path(store)
        # The embedding program has a model of its own. Its function writes the summaries, else they are composed
        # offline.
        settings = replace(settings, summary=SummarySettings(writer="offline"))
        self.workspace = workspace_on(thread.enter(lambda: open_store(path)), settings, summarizer=summarizer)
        if on_update is not None:
            self.workspace.bus.listen(_Listener(on_update))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread and returns its result."""
        return self._thread.run(work)

    def call(self, work: Callable[[Workspace], T]) -> T:
        """Calls plain code with the workspace, in the thread, and returns its result."""
        return self._thread.call(lambda: work(self.workspace))

    def close(self) -> None:
        """Ends the thread and closes the store."""
        self._closing()


class Changes:
    """Compares a session's context before and after an action."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._used = conversation.used
        self._items = tuple(conversation.transcript.items)
        self._edits = _ids(conversation.transcript.edits_in_force)

    def result(self) -> CompactionResult | None:
        """Returns what the action did, or None if it did nothing."""
        transcript = self._conversation.transcript
        if _ids(transcript.edits_in_force) == self._edits:
            return None
        view = transcript.view
        left = {message.id for message in view}
        return CompactionResult(
            messages=view,
            removed=tuple(item.message for item in self._items if not item.inserted and item.message.id not in left),
            saved_tokens=self._used - self._conversation.used,
            summary=self._summary(view),
        )

    def _summary(self, view: Sequence[Message]) -> str:
        known = {item.message.id for item in self._items}
        new = (message.compaction for message in view if message.id not in known)
        return next((marker.summary for marker in new if marker), "")


class _Listener:
    def __init__(self, on_update: OnUpdate) -> None:
        self._on_update = on_update

    def session_updated(self, session_id: str, update: Update) -> None:
        self._on_update(session_id, update)


def _ids(edits: Sequence[EditInfo]) -> tuple[str, ...]:
    return tuple(edit.id for edit in edits)
