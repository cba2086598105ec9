"""Compaction to a number of tokens: as full as the context can be made, and never more.

A plan must set the summary's room aside before it knows how much there is to say. What the summary then leaves
over goes to the tail in the next try, so that little of the budget stays unused.
"""

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.model.edits import CompactionEdit, EditTrigger, compaction_block
from ullage.model.errors import CannotFit, NothingToCompact
from ullage.service.compact.automatic import fit_limit
from ullage.service.compact.run import apply
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.planned import Planned
from ullage.service.plan.ladder import SUMMARIES
from ullage.service.plan.plan import BLOCK_SHARE, finish, keep_old, plan_within
from ullage.service.summaries.prepared import write_summary
from ullage.service.summaries.write import SummaryProgress, summary_request

# A result that uses this share of the budget is as good as full; groups of messages cannot be parted for the rest.
_FULL = 0.95
_TRIES = 5
# Later tries prefer a tail of whole turns only if it wastes next to nothing.
_WHOLE_TURNS = 0.95
# What stands around a summary (the marker's head line, headings) beside what was measured of it, tokens.
_SLACK = 64


class _Attempt(Struct, frozen=True, kw_only=True):
    """How to plan: what the tail and the summary may take, and a block that must stay."""

    limits: CompactionLimits
    block_share: float = BLOCK_SHARE


class _Candidate(Struct, frozen=True, kw_only=True):
    """A compaction that could be applied, and what the context would count after it."""

    planned: Planned
    summary: Summary
    after: int


async def fit_budget(conversation: Conversation, budget: int, focus: str = "") -> CompactionEdit | None:
    """Brings the session to at most `budget` tokens; None if no compaction was needed or possible.

    Where a compaction alone cannot, the oldest messages are left out and the largest blocks cut. Raises `CannotFit`
    when even that stays above the budget.
    """
    if conversation.used <= budget:
        return None
    # A reported figure may be above what the view counts; a compaction must make the count smaller, too.
    best = await _best(conversation, min(budget, conversation.projection.counted_view().used - 1), focus)
    edit = apply(conversation, best.planned, best.summary).edit if best else None
    if conversation.used > budget:
        fit_limit(conversation, budget)
    if conversation.used > budget:
        raise CannotFit(
            f"a budget of {budget:,} tokens is too small: "
            f"what must stay counts {conversation.used:,} even when cut down"
        )
    return edit


async def _best(conversation: Conversation, budget: int, focus: str) -> _Candidate | None:
    attempt = _Attempt(
        limits=CompactionLimits(target=budget, keep_tail=budget, summary=budget, keep_old=keep_old(budget))
    )
    best: _Candidate | None = None
    for _ in range(_TRIES):
        found = await _try(conversation, attempt, focus)
        if found is None:
            break
        if best is None or _rank(found, budget) > _rank(best, budget):
            best = found
        following = _next(attempt, found, budget)
        if budget * _FULL <= found.after <= budget or following == attempt:
            break
        attempt = following
    return best


async def _try(conversation: Conversation, attempt: _Attempt, focus: str) -> _Candidate | None:
    try:
        planned = await plan_within(conversation, attempt.limits, EditTrigger.MANUAL, attempt.block_share)
    except NothingToCompact:
        return None
    request = summary_request(conversation, planned, focus)
    summary = await write_summary(
        conversation, planned, request, SummaryProgress(conversation), replace(SUMMARIES[0], focus=focus)
    )
    after = compaction_block(finish(conversation, planned, summary)).context_size_after
    return _Candidate(planned=planned, summary=summary, after=after)


def _rank(candidate: _Candidate, budget: int) -> tuple[bool, int]:
    """Larger is better: within the budget first, then as near to it as can be."""
    fits = candidate.after <= budget
    return fits, candidate.after if fits else -candidate.after


def _next(attempt: _Attempt, found: _Candidate, budget: int) -> _Attempt:
    """What to change: the target by what was too much, or the room of tail and blocks by what was left."""
    limits = attempt.limits
    if found.after > budget:
        return replace(attempt, limits=replace(limits, target=limits.target - (found.after - budget)))
    said = found.after - found.planned.plan.used_without_marker
    cut = sum(len(edit.replacements) for edit in found.planned.cuts)
    more = (budget - found.after) / budget / cut if cut else 0.0
    return _Attempt(
        limits=replace(limits, summary=said + _SLACK, whole_turns=_WHOLE_TURNS), block_share=attempt.block_share + more
    )
