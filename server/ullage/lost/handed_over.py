"""A conversation's file as what `left_out` and `last_compaction` take, right after a compaction or before the file has
it."""

from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import TextBlock
from ullage.model.events import MessageAppended, Record
from ullage.model.message import Message, Role


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns all messages of a conversation."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def summary_message(summary: str) -> Message:
    """Returns the message with which an agent continues that has nothing but a summary."""
    return Message(id="summary", role=Role.USER, content=(TextBlock(text=summary),))


def records_of(transcript: ImportedTranscript) -> list[Record]:
    """Returns a conversation's log."""
    return [Record(position=place, timestamp=0, event=event) for place, event in enumerate(transcript.events)]
