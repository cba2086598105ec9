"""Dropping: named messages left out of a view, one notice in their place."""

from collections.abc import Iterable

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import TextBlock
from ullage.model.edits import DropEdit
from ullage.model.message import Message, Role

# The same words however much is gone, so that the next edit leaves the beginning of the prompt as it is cached.
NOTICE = "[Earlier messages were left out here to make room.]"


def drop(view: CountedView, message_ids: Iterable[str], stamp: Stamp) -> DropEdit | None:
    """The edit that leaves these messages out; None if that does not make the context smaller."""
    draft = DropEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        message_ids=tuple(message_ids),
        notice=notice(stamp),
    )
    return view.saving(draft)


def notice(stamp: Stamp) -> Message:
    """What stands where messages were left out."""
    return Message(
        id=f"{stamp.id}-notice", role=Role.USER, content=(TextBlock(text=NOTICE),), timestamp=stamp.timestamp
    )
