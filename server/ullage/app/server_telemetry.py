"""Spans and metrics of what happens in a server's sessions; see `telemetry.py`."""

from typing import Any

from msgspec import UnsetType

from ullage.app.telemetry import telemetry
from ullage.model.updates import CompactionStatus, CompactionUpdate, Update, UsageUpdate
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace


class ServerTelemetry:
    """Records the figures and the compactions of a workspace's sessions, as a listener of its bus."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        # The spans of running compactions, by the compaction.
        self._running: dict[str, Any] = {}

    def session_updated(self, session_id: str, update: Update) -> None:
        found = telemetry()
        if found is None or (conversation := self._find(session_id)) is None:
            return
        match update:
            case UsageUpdate():
                found.measure(conversation)
            case CompactionUpdate(status=CompactionStatus.IN_PROGRESS, meta=meta) if not isinstance(meta, UnsetType):
                self._running[update.compaction_id] = found.begin(session_id, conversation.model, meta.ullage.trigger)
            case CompactionUpdate(meta=meta) if not isinstance(meta, UnsetType):
                span = self._running.pop(update.compaction_id, None)
                if span is not None:
                    is_done = update.status is CompactionStatus.COMPLETED
                    found.end(span, conversation.model, meta.ullage, is_done=is_done)
            case _:
                pass

    def _find(self, session_id: str) -> Conversation | None:
        return next((one for one in self._workspace.conversations if one.id == session_id), None)
