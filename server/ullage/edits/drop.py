"""Dropping: leaves the named messages out of a view and puts one notice in their place."""

from collections.abc import Iterable

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import TextBlock
from ullage.model.edits import DropEdit
from ullage.model.message import Message, Role

# The same words however many messages are dropped, so that the next drop leaves the cached beginning of the prompt
# unchanged.
NOTICE = "[Earlier messages were left out here to make room.]"


def drop(view: CountedView, message_ids: Iterable[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that leaves these messages out, or None if that doesn't make the context smaller."""
    draft = DropEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        message_ids=tuple(message_ids),
        notice=notice(stamp),
    )
    return view.saving(draft)


def notice(stamp: Stamp) -> Message:
    """Returns the notice that replaces dropped messages."""
    return Message(
        id=f"{stamp.id}-notice", role=Role.USER, content=(TextBlock(text=NOTICE),), timestamp=stamp.timestamp
    )
