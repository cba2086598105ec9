"""Compacts a range of the view that the user chose: from a message on, up to a message, or between two messages."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ullage.edits.compaction import MARKER_MIN, SUMMARY_CAP, CompactionPlan, joined, legal_cuts
from ullage.edits.counted import CountedView
from ullage.model.blocks import ToolUseBlock
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import kept, leading

# The user asked for less of these messages, not for as much as fits: the summary may take this share of their tokens.
_SUMMARY_SHARE = 0.35


class Stretch(Struct, frozen=True, kw_only=True):
    """A range of indices in the view, `start <= index < stop`. If the range differs from the one asked for, `note`
    says how."""

    start: int
    stop: int
    note: str = ""


def find_stretch(view: CountedView, first: int | None, last: int | None) -> Stretch:
    """Returns the range from index `first` to index `last`, both included, moved to the nearest legal cut points. If
    `first` or `last` is None, the range reaches to that end of the view. A message that awaits an answer stays out
    of it."""
    cuts = legal_cuts(view)
    end = _end(view.messages)
    start = 0 if first is None else min(cuts, key=lambda cut: (abs(cut - first), cut))
    wanted = end if last is None else last + 1
    stop = min((cut for cut in cuts if cut <= end), key=lambda cut: (abs(cut - wanted), -cut))
    notes = [_moved("From", first, start, view), _moved("Up to", last, stop - 1, view)]
    return Stretch(start=start, stop=stop, note=" ".join(filter(None, notes)))


def plan_stretch(
    view: CountedView, stretch: Stretch, total: int, pinned: Collection[str], first_user_id: str | None
) -> CompactionPlan | None:
    """Returns the plan for a range, or None if archiving it can't make the context smaller. `total` is the number of
    messages in the transcript."""
    messages = view.messages
    inside = range(stretch.start, stretch.stop)
    first = set(leading(messages, first_user_id))
    pins = set(kept(messages, pinned)) - first
    archived = [i for i in inside if messages[i].id not in first | pins]
    tokens = sum(view.tokens[i] for i in archived)
    room = int(tokens * _SUMMARY_SHARE)
    if room < MARKER_MIN:
        return None
    return CompactionPlan(
        start=view.items[stretch.start].index if stretch.start else 0,
        end=view.items[stretch.stop].index if stretch.stop < len(messages) else total,
        leading=tuple(messages[i].id for i in inside if messages[i].id in first),
        kept=tuple(messages[i].id for i in inside if messages[i].id in pins),
        head=tuple(view.items[i] for i in inside if not messages[i].compaction),
        previous=joined([block for i in archived if (block := messages[i].compaction)]),
        used_before=view.used,
        used_without_marker=view.used - tokens,
        summary_tokens=min(room, SUMMARY_CAP),
        room=room,
        messages_archived=sum(not view.items[i].inserted for i in archived),
    )


def _end(messages: Sequence[Message]) -> int:
    """Returns the last index at which a range may end: before the last group, unless that group is an answer or a
    marker."""
    if not messages or messages[-1].compaction or _is_answer(messages[-1]):
        return len(messages)
    return groups(messages)[-1].start


def _is_answer(message: Message) -> bool:
    return message.role is Role.ASSISTANT and not any(isinstance(block, ToolUseBlock) for block in message.content)


def _moved(what: str, asked: int | None, found: int, view: CountedView) -> str:
    """Returns a note that an end of the range was moved. Users count messages from 1."""
    if asked is None or asked == found:
        return ""
    if not 0 <= found < len(view.items):
        return f"{what} message {view.items[asked].index + 1} there is nothing that may go."
    named, instead = view.items[asked].index + 1, view.items[found].index + 1
    return f"{what} message {instead} instead of {named}: what belongs together is not parted."
