"""Compacts messages offline and returns a marker's block."""

from support.conversations import places
from support.counting import LengthCounter
from ullage.model.message import CompactionBlock, Message
from ullage.summary.composition import compose
from ullage.summary.summary_request import SummaryRequest


def compacted(
    messages: tuple[Message, ...], max_tokens: int = 4000, previous: CompactionBlock | None = None, focus: str = ""
) -> CompactionBlock:
    """Returns the block that replaces all of `messages`."""
    request = SummaryRequest(
        messages=messages, indices=places(messages), max_tokens=max_tokens, previous=previous, focus=focus
    )
    composition = compose(request, LengthCounter())
    return CompactionBlock(
        compaction_number=previous.compaction_number + 1 if previous else 1,
        timestamp=0,
        summary=composition.summary,
        messages_archived=len(messages),
        context_size_before=0,
        ledger=composition.ledger,
    )
