"""Compaction: a marker that carries a summary replaces the head of the view, or a stretch of it that the user chose:
from a message on, up to a message, or between two messages.

It takes two steps, because a model may write the summary: `plan_compaction` or `plan_stretch` decides which messages
are archived and how long the summary may be; `finish_compaction` makes the edit once the summary is there. All are
pure.
"""

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.clear import AGAIN
from ullage.edits.counted import CountedView, Stamp
from ullage.model.events import CompactionEdit
from ullage.model.message import (
    GIVEN,
    ArtifactLedger,
    BroughtBack,
    CompactionBlock,
    Message,
    Role,
    SealedCompaction,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
    number_of,
)
from ullage.transcript.view import Item, groups, is_prompt, kept, leading

# Tokens. A longer summary says little more (other products stop at 4,096). The ledger may take the same again.
SUMMARY_CAP = 8_192
# Tokens. A shorter summary can't hold its headings, so the tail gives up room instead.
SUMMARY_MIN = 400
# Tokens of the line that introduces a marker and one word of summary, in any tokenizer.
MARKER_MIN = 64
# The suffix that makes a marker's id from its compaction's id.
_MARKER = "-marker"
# The share of the room left by fixed and pinned messages that the summary may take before the tail gives up room.
_SUMMARY_SHARE = 0.65
# Tokens that the summary may take besides, up to a share of that room: what the user said, the task and the state of
# the work take as much in a small context as in a large one.
_SUMMARY_BASE, _BASE_SHARE = 280, 0.1


class CompactionLimits(Struct, frozen=True, kw_only=True):
    """Limits of a compaction, in tokens. `target` is the most that the context may hold afterwards. `keep_tail`,
    `summary` and `keep_old` are the most that the tail, the summary, and old messages kept verbatim may take of it. The
    tail begins with a prompt turn if it then still fills the share `whole_turns` of its room."""

    target: int
    keep_tail: int
    summary: int = SUMMARY_CAP
    keep_old: int = 0
    whole_turns: float = 0.5


# Says of messages that must stay together, by their indices among all messages, whether they are worth keeping verbatim
# and may be. It is asked only about groups that would be kept.
IsWorthKeeping = Callable[[Sequence[Message], range], bool]


class Summary(Struct, frozen=True, kw_only=True):
    """The summary of the archived messages, its ledger, the name of its summarizer, and the project's files that the
    marker brings back. `sealed` is the provider's own compaction, None if the provider made none."""

    text: str
    ledger: ArtifactLedger
    summarizer: str
    brought_back: tuple[BroughtBack, ...] = ()
    sealed: SealedCompaction | None = None


class CompactionPlan(Struct, frozen=True, kw_only=True):
    """A compaction except for the text of its summary. `start` and `end` (excluded) are indices of the transcript.

    `head` holds the messages before the tail, without markers. Those with an id in `leading` or `kept` stay in the
    context; `old_tokens` is the size of those among them that a judge chose. `previous` joins the markers that the new
    marker replaces. The marker may take `room` tokens; the summary's text and ledger together may take `summary_tokens`
    of them.
    """

    start: int
    end: int
    leading: tuple[str, ...]
    kept: tuple[str, ...]
    head: tuple[Item, ...]
    previous: CompactionBlock | None
    used_before: int
    used_without_marker: int
    old_tokens: int = 0
    summary_tokens: int
    room: int
    messages_archived: int

    @property
    def stays(self) -> frozenset[str]:
        """The ids of the messages of the head that stay in the context verbatim."""
        return frozenset({*self.leading, *self.kept})


def plan_compaction(
    view: CountedView,
    limits: CompactionLimits,
    pinned: Collection[str],
    first_user_id: str | None,
    is_worth_keeping: IsWorthKeeping | None = None,
) -> CompactionPlan | None:
    """Returns the plan for a view, or None if archiving messages can't make the context smaller or meet the target.
    `pinned` are ids. `is_worth_keeping`, if given, says which other old messages may stay verbatim."""
    messages = view.messages
    if not messages:
        return None
    first = leading(messages, first_user_id)
    first_ids, pinned_ids = frozenset(first), frozenset(view.kept(pinned))
    leads = {i for i, message in enumerate(messages) if message.id in first_ids}
    pins = [i for i, message in enumerate(messages) if message.id in pinned_ids and i not in leads]
    fixed = view.fixed + sum(view.tokens[i] for i in leads)
    cut = _choose_cut(view, limits, fixed, pins)
    going = set(range(cut)).difference(leads, pins)
    old_tokens = 0
    if is_worth_keeping is not None and limits.keep_old:
        old = set(_worth_keeping(view, leads.union(pins), cut, limits.keep_old, is_worth_keeping))
        # If every message of the head is worth keeping, the head is compacted all the same, because a compaction was
        # asked for.
        if going - old:
            going, pins = going - old, sorted({*pins, *old})
            old_tokens = sum(view.tokens[i] for i in old)
    archived = sorted(going)
    if not archived:
        return None
    markers = {i: block for i in range(cut) if (block := messages[i].compaction)}
    # A summary that came with a program's messages stands for messages that this conversation has never had.
    given = {i: block.messages_archived for i, block in markers.items() if i in going and block.summarizer == GIVEN}
    without = view.used - sum(view.tokens[i] for i in archived)
    room = min(limits.target, view.used - 1) - without
    if room < MARKER_MIN:
        return None
    return CompactionPlan(
        start=0,
        end=view.items[cut].index if cut < len(messages) else view.items[-1].index + 1,
        leading=first,
        kept=tuple(messages[i].id for i in pins if i < cut),
        head=tuple([item for i, item in enumerate(view.items[:cut]) if i not in markers]),
        previous=joined([block for i, block in markers.items() if i in going]),
        used_before=view.used,
        used_without_marker=without,
        old_tokens=old_tokens,
        summary_tokens=min(room, limits.summary),
        room=room,
        messages_archived=sum(given.get(i, not view.items[i].inserted) for i in archived),
    )


def _worth_keeping(
    view: CountedView, stays: Set[int], cut: int, room: int, is_worth_keeping: IsWorthKeeping
) -> Iterator[int]:
    """Yields the indices of the old messages that are kept verbatim: the shortest groups before index `cut` that are
    worth it, the newest of a length first, as many as fit into `room` tokens. Groups with an index in `stays` or a
    message that needs others are left out."""
    messages = view.messages
    old = [group for group in view.groups if group.stop <= cut and stays.isdisjoint(group)]
    for tokens, start, stop in sorted((sum(view.tokens[one.start : one.stop]), -one.start, one.stop) for one in old):
        group = range(-start, stop)
        if tokens > room:
            return
        if is_worth_keeping(messages, group) and not any(_leans(messages[i]) for i in group):
            room -= tokens
            yield from group


def _leans(message: Message) -> bool:
    """Returns whether a message makes no sense without other messages, so that keeping it verbatim is useless. This
    holds for the marker of an earlier compaction, which the new marker replaces, and for a file read in which a notice
    replaced lines, because the message with those lines may be archived."""
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    shown = [join_texts(block.content) for block in results]
    return message.compaction is not None or any(AGAIN in text for text in (message.text, *shown))


def _choose_cut(view: CountedView, limits: CompactionLimits, fixed: int, pins: Sequence[int]) -> int:
    """Returns the index in the view at which the tail begins: the earliest cut point at which the tail fits into its
    room, or the earliest start of a turn if the tail then still fills the share `limits.whole_turns` of the room.

    `fixed` are the tokens that no cut changes: system prompt, tools and leading messages. `pins` are the indices of
    pinned messages and of the newest that the user typed; they stay on either side of the cut and are not counted as
    the tail's. The last group of messages is always part of the tail, whatever its size.
    """
    cuts = legal_cuts(view)
    kept_before = {i: view.tokens[i] for i in pins}
    pinned_tokens = sum(kept_before.values())
    room = limits.target - fixed - pinned_tokens - limits.keep_old
    said = max(SUMMARY_MIN, room * _SUMMARY_SHARE + min(_SUMMARY_BASE, room * _BASE_SHARE))
    room = min(limits.keep_tail, int(room - min(limits.summary, said)))
    size, sizes = 0, dict[int, int]()
    for start, stop in reversed(list(pairwise(cuts))):
        size += sum(view.tokens[i] for i in range(start, stop) if i not in kept_before)
        # A request must end with the message to be answered, so the last group stays whatever its size.
        if size > room and sizes:
            break
        sizes[start] = size
    best = min(sizes)
    enough = room * limits.whole_turns
    whole = [start for start in sizes if sizes[start] >= enough and is_prompt(view.messages[start])]
    return min(whole, default=best)


def legal_cuts(view: CountedView) -> list[int]:
    """Returns the view's cut points (indices in the view), except those between an inserted message (marker or notice)
    and the message whose transcript index it shares. An edit names transcript indices, so it could not separate the
    two."""
    items = view.items
    joint = {i for i in range(1, len(items)) if items[i - 1].inserted and items[i - 1].index == items[i].index}
    return [cut for cut in [0, *(group.stop for group in view.groups)] if cut not in joint]


def joined(blocks: Sequence[CompactionBlock]) -> CompactionBlock | None:
    """Returns one block with the summaries and ledgers of the markers that a new marker replaces, oldest first. All
    other fields are the newest block's. Returns None if there are no markers."""
    if len(blocks) < 2:
        return blocks[0] if blocks else None
    ledgers = [block.ledger for block in blocks]
    return replace(
        blocks[-1],
        summary="\n\n".join(block.summary for block in blocks),
        ledger=ArtifactLedger(
            files=tuple(file for ledger in ledgers for file in ledger.files),
            commands=tuple(command for ledger in ledgers for command in ledger.commands),
            identifiers=tuple(name for ledger in ledgers for name in ledger.identifiers),
        ),
    )


def finish_compaction(
    plan: CompactionPlan, view: CountedView, stamp: Stamp, summary: Summary, number: int
) -> CompactionEdit:
    """Returns the edit with its marker, as the session's compaction `number` (from 1). `view` counts its tokens."""
    block = CompactionBlock(
        compaction_number=number,
        timestamp=stamp.timestamp,
        summary=summary.text,
        messages_archived=plan.messages_archived,
        context_size_before=plan.used_before,
        kept=plan.kept,
        ledger=summary.ledger,
        summarizer=summary.summarizer,
        brought_back=summary.brought_back,
        sealed=summary.sealed,
    )
    after = plan.used_without_marker + view.measure(_marker(stamp, block))
    return CompactionEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        tokens_saved=plan.used_before - after,
        start=plan.start,
        end=plan.end,
        marker=_marker(stamp, replace(block, context_size_after=after)),
        leading=plan.leading,
        kept=plan.kept,
    )


def _marker(stamp: Stamp, block: CompactionBlock) -> Message:
    return Message(id=f"{stamp.id}{_MARKER}", role=Role.USER, content=(block,), timestamp=stamp.timestamp)


def compaction_id(marker: Message) -> str:
    """Returns the id of the compaction that made a marker. The marker of an imported compaction may lack Ullage's
    suffix; then the result is the marker's own id."""
    return marker.id.removesuffix(_MARKER)


# The user asked for less of these messages, not for as much as fits: the summary may take this share of their tokens.
_STRETCH_SHARE = 0.35


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
    room = int(tokens * _STRETCH_SHARE)
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
    """Returns the largest `stop` of a range: all if the last message is an answer or marker, else before its group."""
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
