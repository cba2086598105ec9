"""What a compaction left out, from a conversation's file alone: right after it, or before the file has it."""

from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.lost.finding import find_lost
from ullage.lost.left_out import left_out
from ullage.lost.loss import Loss
from ullage.model.blocks import TextBlock
from ullage.model.events import MessageAppended, Record
from ullage.model.message import Message, Role


def losses_of_summary(transcript: ImportedTranscript, summary: str) -> tuple[Loss, ...]:
    """Returns what a summary of all messages of a conversation leaves out. Which messages the agent keeps in
    addition to the summary is not known yet, so these count as left out."""
    messages = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
    carried = Message(id="summary", role=Role.USER, content=(TextBlock(text=summary),))
    return find_lost(messages, [carried], transcript.cwd)


def losses_of_file(transcript: ImportedTranscript) -> tuple[Loss, ...]:
    """Returns what the last compaction in a conversation's file left out; nothing if there is none."""
    records = [Record(position=place, timestamp=0, event=event) for place, event in enumerate(transcript.events)]
    found = left_out(records, transcript.cwd)
    return found.losses if found else ()
