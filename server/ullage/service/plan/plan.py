"""Plans of compactions: what goes, within which limits, and the edit that a plan and its summary make."""

from collections.abc import Callable
from functools import partial

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
from ullage.service.plan.aside import aside
from ullage.summary.checks import Check
from ullage.summary.choosing.scoring import Judge
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import leading

# A compaction by hand is asked for to make room now: it leaves at most half of what is there, half of that verbatim.
_MANUAL_SHARE = 0.5
_MANUAL_TAIL_SHARE = 0.25
# In a small window a summary of full length would crowd out the conversation it serves.
_SUMMARY_SHARE = 0.35
# A block may take this share of the target; more would leave no room for the conversation around it.
BLOCK_SHARE = 0.25
# Old messages worth their tokens verbatim are few and short: a summary says more per token, and where tokens are
# scarce it needs all of them.
_KEEP_OLD_SHARE, _KEEP_OLD_FROM = 0.05, 4_000


def automatic_limits(budget: ContextBudget) -> CompactionLimits:
    """What a compaction at the threshold aims for."""
    return _limits(budget.target, budget.keep_tail)


def manual_limits(used: int, budget: ContextBudget | None) -> CompactionLimits:
    """What a compaction by hand aims for: it must help even when the context is nearly empty."""
    target, tail = int(used * _MANUAL_SHARE), int(used * _MANUAL_TAIL_SHARE)
    if budget is None:
        return _limits(target, tail)
    return _limits(min(target, budget.target), min(tail, budget.keep_tail))


def keep_old(target: int) -> int:
    """What old messages may take verbatim of a context of `target` tokens."""
    return int(max(0, target - _KEEP_OLD_FROM) * _KEEP_OLD_SHARE)


async def plan_within(
    conversation: Conversation, limits: CompactionLimits, trigger: EditTrigger, block_share: float = BLOCK_SHARE
) -> Planned:
    """Decides what goes. Blocks that must stay are cut to `block_share` of the target. Raises `NothingToCompact`."""
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

    planned = await plan_aside(conversation, view, choose, trigger)
    if planned is None:
        raise NothingToCompact(words.nothing_to_compact(transcript.active, used))
    return replace(planned, cuts=(replace(cut, part_of=planned.stamp.id),)) if cut else planned


async def plan_aside(
    conversation: Conversation,
    view: CountedView,
    choose: Callable[[Check], CompactionPlan | None],
    trigger: EditTrigger,
) -> Planned | None:
    """A plan for the context as it is now; None if `choose` returns None. `choose` reads every old message, so it runs
    in a thread: a large context takes seconds, in which the event loop stays free."""
    used, number, edits_seen = conversation.used, conversation.transcript.compactions + 1, conversation.edits_seen
    stamp = conversation.workspace.new_stamp(trigger)
    chosen = await aside(choose)
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
    """The edit that a plan and a summary make. Whoever wrote the summary, secrets and private passages are removed."""
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
    """Messages that stay whatever is compacted, so that huge blocks in them must be cut: the first and the last."""
    messages = conversation.transcript.view
    if not messages:
        return frozenset()
    last = groups(messages)[-1]
    first = leading(messages, conversation.transcript.first_user_id)
    return frozenset({*first, *(messages[i].id for i in last)})
