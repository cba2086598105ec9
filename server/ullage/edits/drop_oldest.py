"""Token budget: the oldest groups of messages go until the rest fits; the first user message and pins stay."""

from collections.abc import Collection

from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import TextBlock
from ullage.model.edits import DropEdit
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import kept, leading


def drop_oldest(
    view: CountedView, limit: int, pinned: Collection[str], first_user_id: str | None, stamp: Stamp
) -> DropEdit | None:
    """The edit that brings the context to at most `limit` tokens, or as near as whole groups allow.

    The last group stays, since a request must end with what is to be answered. None when the context fits already
    or nothing may go.
    """
    messages = view.messages
    stays = {*leading(messages, first_user_id), *kept(messages, pinned)}
    excess = view.used + view.measure(_notice(stamp, len(messages))) - limit
    dropped: list[str] = []
    if view.used <= limit:
        return None
    for group in groups(messages)[:-1]:
        if excess <= 0:
            break
        going = [i for i in group if messages[i].id not in stays]
        excess -= sum(view.tokens[i] for i in going)
        dropped += [messages[i].id for i in going]
    if not dropped:
        return None
    draft = DropEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        message_ids=tuple(dropped),
        notice=_notice(stamp, len(dropped)),
    )
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved) if saved > 0 else None


def _notice(stamp: Stamp, dropped: int) -> Message:
    text = f"[{dropped} older messages were left out here to make room; they are kept in the archive.]"
    return Message(id=f"{stamp.id}-notice", role=Role.USER, content=(TextBlock(text=text),), timestamp=stamp.timestamp)
