"""Dropping: leaves messages out of a view and puts one notice in their place.

`drop_inside` drops messages inside the last group. It is for a single answer of so many messages that shortening each
of them is not enough. Providers merge the messages of one answer, so splitting an answer breaks no rule of theirs; the
answer only reads as if it had begun later. Tool uses and results stay, because dropping one would leave the other
alone.
"""

from collections.abc import Collection, Iterable, Iterator

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock, is_sealed
from ullage.model.edits import DropEdit
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups

# The same words however many messages are dropped, so that the next drop leaves the cached beginning of the prompt
# unchanged.
NOTICE = "[Earlier messages were left out here to make room.]"


def drop(view: CountedView, message_ids: Iterable[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that leaves out the messages with these ids and puts a notice in their place, or None if that
    doesn't make the context smaller."""
    draft = DropEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        message_ids=tuple(message_ids),
        notice=notice(stamp),
    )
    return view.saving(draft)


def notice(stamp: Stamp) -> Message:
    """Returns the notice that takes the place of dropped messages, as a user's message."""
    return Message(
        id=f"{stamp.id}-notice", role=Role.USER, content=(TextBlock(text=NOTICE),), timestamp=stamp.timestamp
    )


def drop_inside(view: CountedView, limit: int, stays: Collection[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that leaves out the oldest messages of the last group until the context has at most `limit`
    tokens, or all that may be dropped if that is not enough. Returns None if the context fits already or if no message
    may be dropped. The very last message, the newest that the user typed, messages with tool uses or results, sealed
    ones with the message after them, and those with an id in `stays` are kept."""
    if view.used <= limit:
        return None
    messages = view.messages
    excess = view.used - limit + view.measure(notice(stamp))
    dropped: list[str] = []
    for at in _may_go(messages, {*stays, view.newest.id} if view.newest else stays):
        if excess <= 0:
            break
        excess -= view.tokens[at]
        dropped.append(messages[at].id)
    return drop(view, dropped, stamp) if dropped else None


def _may_go(messages: tuple[Message, ...], stays: Collection[str]) -> Iterator[int]:
    last = groups(messages)[-1] if messages else range(0)
    firm = [_is_firm(messages[at]) for at in last]
    # A provider that has reasoning or a tool of its own in one item asks for the item that came of it.
    follows = [False, *(any(map(is_sealed, messages[at].content)) for at in last)]
    return (
        at
        for at, is_firm, is_followed in zip(last[:-1], firm, follows, strict=False)
        if messages[at].id not in stays and not is_firm and not is_followed
    )


def _is_firm(message: Message) -> bool:
    return any(isinstance(block, ToolUseBlock | ToolResultBlock) or is_sealed(block) for block in message.content)
