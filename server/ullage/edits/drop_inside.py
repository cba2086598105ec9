"""Drops messages inside the last group. This is for a single answer of so many messages that shortening each of them is
not enough.

Providers merge the messages of one answer, so splitting an answer breaks no rule of theirs; the answer only reads as if
it had begun later. Tool uses and results stay, because dropping one would leave the other alone.
"""

from collections.abc import Collection, Iterator

from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import drop, notice
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.edits import DropEdit
from ullage.model.message import Message
from ullage.transcript.cut_points import groups


def drop_inside(view: CountedView, limit: int, stays: Collection[str], stamp: Stamp) -> DropEdit | None:
    """Returns the edit that leaves out the oldest messages of the last group until the context fits `limit`, or all
    that may go if that is not enough. Returns None if the context fits already or if no message may go. The very
    last message and the messages `stays` are kept."""
    if view.used <= limit:
        return None
    messages = view.messages
    excess = view.used - limit + view.measure(notice(stamp))
    dropped: list[str] = []
    for at in _may_go(messages, stays):
        if excess <= 0:
            break
        excess -= view.tokens[at]
        dropped.append(messages[at].id)
    return drop(view, dropped, stamp) if dropped else None


def _may_go(messages: tuple[Message, ...], stays: Collection[str]) -> Iterator[int]:
    last = groups(messages)[-1] if messages else range(0)
    return (at for at in last[:-1] if messages[at].id not in stays and not _has_tools(messages[at]))


def _has_tools(message: Message) -> bool:
    return any(isinstance(block, ToolUseBlock | ToolResultBlock) for block in message.content)
