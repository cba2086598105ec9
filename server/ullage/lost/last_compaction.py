"""The last compaction of a conversation: what was known before it, and what the agent carried over it."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import NO_SUMMARY, CompactionBlock, TextBlock
from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.events import ContextEdited, MessageAppended, Record
from ullage.model.message import Message, Role
from ullage.transcript.fold import Transcript, compaction_edits

# Milliseconds. An agent may write its compaction into its file a moment after the hook has answered, with the time of
# the writing.
_LATE = 60_000


class LastCompaction(Struct, frozen=True, kw_only=True):
    """A compaction. `before` are all messages of the transcript until then, `carried` is the context right after it:
    the summary, and the messages that the agent kept. `edit_id` names it, `block` describes it, `timestamp` is its time
    in Unix milliseconds, 0 if unknown."""

    before: tuple[Message, ...]
    carried: tuple[Message, ...]
    edit_id: str
    block: CompactionBlock
    timestamp: int

    @property
    def kept(self) -> int:
        """The number of messages before the compaction that are still in the context."""
        known = {message.id for message in self.before}
        return sum(message.id in known for message in self.carried)

    @property
    def has_summary(self) -> bool:
        """Whether the agent kept a summary. It may have begun a new context window without one."""
        return self.block.summary != NO_SUMMARY

    @property
    def is_readable(self) -> bool:
        """Whether the summary can be read. A provider may keep it encrypted."""
        return bool(self.block.summary.strip())


def last_compaction(records: Sequence[Record], edit_id: str | None = None) -> LastCompaction | None:
    """Returns the last compaction in force of a log, or the one in force with this id. Returns None if there is
    none."""
    edits = [edit for edit in compaction_edits(records) if edit_id in (None, edit.id)]
    if not edits:
        return None
    transcript = Transcript()
    transcript.expect_reverts(records)
    before: list[Message] = []
    for record in records:
        transcript.apply(record)
        event = record.event
        if isinstance(event, MessageAppended):
            before.append(event.message)
        elif isinstance(event, ContextEdited) and event.edit.id == edits[-1].id:
            break
    return LastCompaction(
        before=tuple(before),
        carried=transcript.view,
        edit_id=edits[-1].id,
        block=compaction_block(edits[-1]),
        timestamp=edits[-1].timestamp,
    )


def compaction_before(at: int, edits: Sequence[CompactionEdit]) -> str | None:
    """Returns the id of the compaction after which a hook gave something back at a time, None if there is none."""
    before = [edit.id for edit in edits if edit.timestamp <= at + _LATE]
    return before[-1] if before else None


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns all messages of a conversation."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def summary_message(summary: str) -> Message:
    """Returns the message with which an agent continues that has nothing but a summary."""
    return Message(id="summary", role=Role.USER, content=(TextBlock(text=summary),))


def records_of(transcript: ImportedTranscript) -> list[Record]:
    """Returns a conversation's log."""
    return [Record(position=place, timestamp=0, event=event) for place, event in enumerate(transcript.events)]
