"""Planning a compaction: its limits, the messages it archives, and the edit made from a plan and a summary."""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from threading import Event
from typing import TypeVar

from msgspec.structs import replace

from ullage.edits.compaction import (
    SUMMARY_CAP,
    CompactionLimits,
    CompactionPlan,
    Summary,
    finish_compaction,
    plan_compaction,
)
from ullage.edits.counted import CountedView
from ullage.edits.shorten import cap_blocks
from ullage.model import words
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.errors import NothingToCompact
from ullage.policy.budget import ContextBudget
from ullage.redaction.privacy import hide
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.planned import Planned
from ullage.summary.checks import Check
from ullage.summary.choosing.scoring import Judge
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import leading

T = TypeVar("T")
# A compaction by hand must make room now: it leaves at most half of the present tokens, half of them in the tail.
_MANUAL_SHARE = 0.5
_MANUAL_TAIL_SHARE = 0.25
# Share of the target. In a small window, a summary of full length would leave no room for the conversation.
_SUMMARY_SHARE = 0.35
# Share of the target that one block may take. More would leave no room for the messages around the block.
BLOCK_SHARE = 0.25
# Old messages worth keeping verbatim are few and short, because a summary says more per token. Below 4,000 tokens the
# summary needs all the room.
_KEEP_OLD_SHARE, _KEEP_OLD_FROM = 0.05, 4_000


def automatic_limits(budget: ContextBudget) -> CompactionLimits:
    """Returns the limits of an automatic compaction, in tokens."""
    return _limits(budget.target, budget.keep_tail)


def manual_limits(used: int, budget: ContextBudget | None) -> CompactionLimits:
    """Returns the limits of a compaction by hand, in tokens. They depend on `used`, so that it helps even if the
    context is nearly empty."""
    target, tail = int(used * _MANUAL_SHARE), int(used * _MANUAL_TAIL_SHARE)
    if budget is None:
        return _limits(target, tail)
    return _limits(min(target, budget.target), min(tail, budget.keep_tail))


def keep_old(target: int) -> int:
    """Returns the tokens that old messages may keep verbatim in a context of `target` tokens."""
    return int(max(0, target - _KEEP_OLD_FROM) * _KEEP_OLD_SHARE)


async def plan_within(
    conversation: Conversation, limits: CompactionLimits, trigger: EditTrigger, block_share: float = BLOCK_SHARE
) -> Planned:
    """Plans a compaction within limits. A block that must stay is shortened to `block_share` of the target. Raises
    `NothingToCompact`."""
    transcript, used = conversation.transcript, conversation.used
    view = conversation.projection.counted_view()
    stamp = conversation.workspace.new_stamp(trigger)
    cut = cap_blocks(view, int(limits.target * block_share), stamp, _staying(conversation))
    if cut is not None:
        view = view.after(cut)
    limits = replace(limits, target=min(limits.target, used - 1))
    pinned, first_user_id = frozenset(transcript.pinned), transcript.first_user_id
    judge = partial(Judge, conversation.workspace.reader)

    def choose(check: Check) -> CompactionPlan | None:
        return plan_compaction(view, limits, pinned, first_user_id, partial(judge, check))

    planned = await plan_in_thread(conversation, view, choose, trigger)
    if planned is None:
        raise NothingToCompact(words.nothing_to_compact(transcript.active, used))
    return replace(planned, cuts=(replace(cut, part_of=planned.stamp.id),)) if cut else planned


async def plan_in_thread(
    conversation: Conversation,
    view: CountedView,
    choose: Callable[[Check], CompactionPlan | None],
    trigger: EditTrigger,
) -> Planned | None:
    """Returns the plan that `choose` makes for the present context, or None if `choose` returns None. `choose` reads
    every old message, which takes seconds in a large context, so it runs in a thread."""
    used, number, edits_seen = conversation.used, conversation.transcript.compactions + 1, conversation.edits_seen
    stamp = conversation.workspace.new_stamp(trigger)
    chosen = await in_thread(choose)
    if chosen is None:
        return None
    return Planned(
        view=view,
        plan=replace(chosen, used_before=used),
        stamp=stamp,
        number=number,
        edits_seen=edits_seen,
        private=conversation.settings.private_patterns,
    )


def finish(conversation: Conversation, planned: Planned, summary: Summary) -> CompactionEdit:
    """Returns the edit made from a plan and a summary. Secrets and private text are removed from the summary,
    no matter what wrote it."""
    text = conversation.workspace.reader.redact(summary.text)
    safe = hide(replace(summary, text=text, brought_back=planned.brought_back), planned.private)
    return finish_compaction(planned.plan, planned.view, planned.stamp, safe, planned.number)


def _limits(target: int, tail: int) -> CompactionLimits:
    return CompactionLimits(
        target=target,
        keep_tail=tail,
        summary=min(SUMMARY_CAP, int(target * _SUMMARY_SHARE)),
        keep_old=keep_old(target),
    )


def _staying(conversation: Conversation) -> frozenset[str]:
    """Returns the ids of the messages that stay in any compaction, the first and the last. Huge blocks in them must
    be shortened."""
    messages = conversation.transcript.view
    if not messages:
        return frozenset()
    last = groups(messages)[-1]
    first = leading(messages, conversation.transcript.first_user_id)
    return frozenset({*first, *(messages[i].id for i in last)})


async def in_thread(work: Callable[[Check], T]) -> T:
    """Runs `work` in a thread and returns its result, so that the event loop stays free. If the awaiting task is
    cancelled, the check that `work` was given raises at its next call. Otherwise the thread would continue and take the
    processor from the event loop."""
    given_up = Event()

    def check() -> None:
        if given_up.is_set():
            raise CancelledError

    try:
        return await asyncio.to_thread(work, check)
    finally:
        given_up.set()
