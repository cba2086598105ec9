"""Compacts a range of the view that the user chose: from a message on, up to a message, or between two messages."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ullage.edits.compaction import MARKER_MIN, SUMMARY_CAP, CompactionPlan, joined, legal_cuts
from ullage.edits.counted import CountedView
from ullage.model.blocks import ToolUseBlock
from ullage.model.message import Message, Role, number_of
from ullage.transcript.cut_points import groups, kept, leading

# The user asked for less of these messages, not for as much as fits: the summary may take this share of their tokens.
_SUMMARY_SHARE = 0.35


class Stretch(Struct, frozen=True, kw_only=True):
    """A range of indices in the view, `start <= index < stop`, that the user chose to compact. If the range differs
    from the user's, `note` says how; else it is empty."""

    start: int
    stop: int
    note: str = ""


def find_stretch(view: CountedView, first: int | None, last: int | None) -> Stretch:
    """Returns the range from the view index `first` to `last`, both included, with its ends moved to the nearest legal
    cut points. If `first` or `last` is None, the range reaches to that end of the view. The last group of messages is
    left out if it still awaits an answer."""
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
    """Returns the plan for compacting a range, or None if the range is too short for a summary to save tokens. `total`
    is the number of messages in the transcript. `pinned` are ids."""
    messages = view.messages
    inside = range(stretch.start, stretch.stop)
    first = set(leading(messages, first_user_id))
    # Once all is answered the newest question may go: its user chose it, and the next request has another.
    awaits = _end(messages) < len(messages)
    pins = set(view.kept(pinned) if awaits else kept(messages, pinned)) - first
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
    """Returns the largest `stop` that a range may have: the number of messages if the last one is an answer or a
    marker, else the start of the last group."""
    if not messages or messages[-1].compaction or _is_answer(messages[-1]):
        return len(messages)
    return groups(messages)[-1].start


def _is_answer(message: Message) -> bool:
    return message.role is Role.ASSISTANT and not any(isinstance(block, ToolUseBlock) for block in message.content)


def _moved(what: str, asked: int | None, found: int, view: CountedView) -> str:
    """Returns a sentence that says how one end of the range was moved, or an empty string if it was not. `what` is its
    beginning, `asked` and `found` are view indices."""
    if asked is None or asked == found:
        return ""
    if not 0 <= found < len(view.items):
        return f"{what} message {number_of(view.items[asked].index)} there is nothing that may go."
    named, instead = (number_of(view.items[place].index) for place in (asked, found))
    return f"{what} message {instead} instead of {named}: what belongs together is not parted."
