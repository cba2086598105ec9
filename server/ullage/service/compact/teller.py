"""What listeners are told of one compaction."""

from msgspec import UNSET, UnsetType

from ullage.model.context_events import CompactionComplete
from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Meta,
    TextContent,
    Update,
)
from ullage.service.conversation.session import Planned
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace


class Teller:
    """Tells listeners of one run, in ACP's order: in progress, chunks, one terminal status, the new usage."""

    def __init__(self, workspace: Workspace, planned: Planned) -> None:
        self._workspace = workspace
        self._planned = planned
        self._session_id = planned.session_id
        self._id = planned.stamp.id

    def begun(self) -> None:
        """The compaction is under way."""
        self._tell(CompactionUpdate(compaction_id=self._id, status=CompactionStatus.IN_PROGRESS, meta=self._meta()))

    def chunk(self, text: str) -> None:
        """A piece of the summary."""
        self._tell(CompactionSummaryChunk(compaction_id=self._id, content=TextContent(text=text)))

    def ended(self, status: CompactionStatus, error: str | UnsetType = UNSET) -> None:
        """It was cancelled, or has failed."""
        self._tell(CompactionUpdate(compaction_id=self._id, status=status, error=error, meta=self._meta()))

    def completed(self, edit: CompactionEdit) -> None:
        """It has been applied."""
        block = compaction_block(edit)
        self._tell(
            CompactionUpdate(
                compaction_id=self._id,
                status=CompactionStatus.COMPLETED,
                summary=(TextContent(text=block.summary),),
                meta=self._meta(edit),
            )
        )
        tell_usage(self._workspace, self._workspace.session(self._session_id))
        self._workspace.bus.publish(CompactionComplete(session_id=self._session_id, edit=edit))

    def _tell(self, update: Update) -> None:
        self._workspace.emit(self._session_id, update)

    def _meta(self, edit: CompactionEdit | None = None) -> Meta[CompactionMeta]:
        planned = self._planned
        return Meta(
            ullage=CompactionMeta(
                trigger=planned.stamp.trigger.value,
                compaction_number=planned.number,
                edit_id=edit.id if edit else None,
                message_id=edit.marker.id if edit else None,
                messages_archived=planned.plan.messages_archived,
                context_size_before=planned.plan.used_before,
                context_size_after=compaction_block(edit).context_size_after if edit else 0,
            )
        )
