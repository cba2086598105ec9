"""A conversation's file as what `finding` and `last_compaction` take, right after a compaction or before the file has
it."""

from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import TextBlock
from ullage.model.edits import CompactionEdit
from ullage.model.events import ContextEdited, MessageAppended, Record
from ullage.model.message import Message, Role


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns all messages of a conversation."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def messages_since_compaction(transcript: ImportedTranscript) -> list[Message]:
    """Returns the messages of a conversation after its last compaction."""
    events = transcript.events
    last = -1
    for at, event in enumerate(events):
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            last = at
    return [event.message for event in events[last + 1 :] if isinstance(event, MessageAppended)]


def summary_message(summary: str) -> Message:
    """Returns the message with which an agent continues that has nothing but a summary."""
    return Message(id="summary", role=Role.USER, content=(TextBlock(text=summary),))


def records_of(transcript: ImportedTranscript) -> list[Record]:
    """Returns a conversation's log."""
    return [Record(position=place, timestamp=0, event=event) for place, event in enumerate(transcript.events)]
