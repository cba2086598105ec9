"""Compaction: a head of the view is replaced by a marker that carries its summary.

Two steps, since a summary may come from a model: `plan_compaction` decides what goes and returns the
`SummaryRequest` it needs; `finish_compaction` makes the edit from the answer. Both are pure.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp
from ullage.edits.duplicate_reads import AGAIN
from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import BroughtBack, CompactionBlock, SealedCompaction, TextBlock, ToolResultBlock
from ullage.model.edits import CompactionEdit
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import cut_points, groups, turn_starts
from ullage.transcript.keep import kept, leading
from ullage.transcript.view import Item

# A summary beyond this says little more (other products stop at 4,096); the ledger may take as much again.
SUMMARY_CAP = 8_192
# Below this a summary cannot hold its headings; the tail gives way instead.
SUMMARY_MIN = 400
# The line that introduces a marker and a word of summary, in any tokenizer.
MARKER_MIN = 64
# What a marker's id adds to its compaction's.
_MARKER = "-marker"
# Of the room that is left, what the summary may take before the tail gives way.
_SUMMARY_SHARE = 0.65


class CompactionLimits(Struct, frozen=True, kw_only=True):
    """Tokens: the most the context may hold afterwards, the most of it the tail, the summary and old messages that are
    worth it (`keep_old`) may take. A tail of whole turns is preferred if it fills at least the share `whole_turns` of
    what a tail may take."""

    target: int
    keep_tail: int
    summary: int = SUMMARY_CAP
    keep_old: int = 0
    whole_turns: float = 0.5


class Judge(Protocol):
    """Says of messages that belong together, given as a range of places, whether they should stay verbatim."""

    def worth(self, group: range) -> float:
        """What they are worth; 0 for nothing."""
        ...

    def may_stay(self, group: range) -> bool:
        """Whether nothing in them forbids it. Costs more, and is asked of few: of those that would stay."""
        ...


# Given the messages and the places of the tail: who judges what stands before it.
MakeJudge = Callable[[Sequence[Message], range], Judge]


class Summary(Struct, frozen=True, kw_only=True):
    """What stands for the archived messages, who wrote it, and what comes back with it; `sealed` is what stands for
    them with the provider that made it."""

    text: str
    ledger: ArtifactLedger
    summarizer: str
    brought_back: tuple[BroughtBack, ...] = ()
    sealed: SealedCompaction | None = None


class CompactionPlan(Struct, frozen=True, kw_only=True):
    """What a compaction will do, but for the summary's words. `start` and `end` are the transcript's indices; `head` is
    all that stands before the tail, `leading` and `kept` name what of it stays. The marker may take `room` tokens, of
    which `summary_tokens` are for summary and ledger."""

    start: int
    end: int
    leading: tuple[str, ...]
    kept: tuple[str, ...]
    head: tuple[Item, ...]
    previous: CompactionBlock | None
    used_before: int
    used_without_marker: int
    summary_tokens: int
    room: int
    messages_archived: int

    @property
    def stays(self) -> frozenset[str]:
        """Ids of the messages of the head that stay verbatim."""
        return frozenset({*self.leading, *self.kept})


def plan_compaction(
    view: CountedView,
    limits: CompactionLimits,
    pinned: Collection[str],
    first_user_id: str | None,
    make_judge: MakeJudge | None = None,
) -> CompactionPlan | None:
    """The plan for a view, or None when there is nothing that could go for a smaller context. The judge chooses
    the old messages that stay verbatim beside the pinned ones."""
    messages = view.messages
    if not messages:
        return None
    first = leading(messages, first_user_id)
    pinned_ids = set(kept(messages, pinned)) - set(first)
    pins = [i for i, message in enumerate(messages) if message.id in pinned_ids]
    fixed = view.fixed + sum(view.tokens[i] for i, message in enumerate(messages) if message.id in first)
    cut = _choose_cut(view, limits, fixed, pins)
    stays = {*first, *pinned_ids}
    going = {i for i in range(cut) if messages[i].id not in stays}
    if make_judge is not None and limits.keep_old:
        judge = make_judge(messages, range(cut, len(messages)))
        old = set(_worth_keeping(view, stays, cut, limits.keep_old, judge))
        # A head that is worth keeping whole is compacted all the same: that is what was asked for.
        if going - old:
            going, pins = going - old, sorted({*pins, *old})
    archived = sorted(going)
    if not archived:
        return None
    without = view.used - sum(view.tokens[i] for i in archived)
    room = min(limits.target, view.used - 1) - without
    if room < MARKER_MIN:
        return None
    return CompactionPlan(
        start=0,
        end=view.items[cut].index if cut < len(messages) else view.items[-1].index + 1,
        leading=first,
        kept=tuple(messages[i].id for i in pins if i < cut),
        head=tuple(item for item in view.items[:cut] if not item.message.compaction),
        previous=joined([block for i in archived if (block := messages[i].compaction)]),
        used_before=view.used,
        used_without_marker=without,
        summary_tokens=min(room, limits.summary),
        room=room,
        messages_archived=sum(not view.items[i].inserted for i in archived),
    )


def _worth_keeping(view: CountedView, stays: Collection[str], cut: int, room: int, judge: Judge) -> Iterator[int]:
    """Places of the groups before the cut that are worth most per token, within `room` tokens."""
    messages = view.messages
    ranked: list[tuple[float, range, int]] = []
    for group in groups(messages):
        tokens = sum(view.tokens[i] for i in group)
        free = group.stop <= cut and not any(messages[i].id in stays or _leans(messages[i]) for i in group)
        if free and tokens <= room and (value := judge.worth(group)) > 0:
            ranked.append((value / max(tokens, 1), group, tokens))
    for _, group, tokens in sorted(ranked, key=lambda entry: (entry[0], entry[1].start), reverse=True):
        if tokens <= room and judge.may_stay(group):
            room -= tokens
            yield from group


def _leans(message: Message) -> bool:
    """Whether a message says little without others: a marker, which is replaced, or a read whose lines a notice says
    are shown later, in a message that may go."""
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    shown = [part.text for block in results for part in block.content if isinstance(part, TextBlock)]
    return message.compaction is not None or any(AGAIN in text for text in (message.text, *shown))


def _choose_cut(view: CountedView, limits: CompactionLimits, fixed: int, pins: Sequence[int]) -> int:
    """Where the tail begins: as early as its room allows, at a turn's start if that does not waste the room."""
    cuts = legal_cuts(view)
    kept_before = {i: view.tokens[i] for i in pins}
    pinned_tokens = sum(kept_before.values())
    room = limits.target - fixed - pinned_tokens - limits.keep_old
    room = min(limits.keep_tail, int(room - min(limits.summary, max(SUMMARY_MIN, room * _SUMMARY_SHARE))))
    size, sizes = 0, dict[int, int]()
    for start, stop in reversed(list(pairwise(cuts))):
        size += sum(view.tokens[i] for i in range(start, stop) if i not in kept_before)
        # A request must end with what is to be answered, so the last group stays whatever its size.
        if size > room and sizes:
            break
        sizes[start] = size
    best = min(sizes)
    enough = room * limits.whole_turns
    whole = [start for start in turn_starts(view.messages) if start in sizes and sizes[start] >= enough]
    return min(whole, default=best)


def legal_cuts(view: CountedView) -> list[int]:
    """The view's cut points, without those between a marker or notice and the message it has its index from, which an
    edit, that speaks of indices, could not part."""
    items = view.items
    joint = {i for i in range(1, len(items)) if items[i - 1].inserted and items[i - 1].index == items[i].index}
    return [cut for cut in cut_points(view.messages) if cut not in joint]


def joined(blocks: Sequence[CompactionBlock]) -> CompactionBlock | None:
    """The markers that a new one replaces, oldest first, as one; None without any."""
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
    """The edit. `number` counts the session's compactions from 1. The sizes it states are measured on the view."""
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
    """The id of the compaction that a marker stands for; an imported marker's own."""
    return marker.id.removesuffix(_MARKER)
