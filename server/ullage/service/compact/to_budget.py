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
from ullage.service.compact.run import (
    BLOCK_SHARE,
    apply_and_tell,
    finish,
    keep_old,
    plan,
    summary_request,
    write_summary,
)
from ullage.service.conversation.session import Planned, Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.plan.ladder import SUMMARIES

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


async def fit_budget(workspace: Workspace, session: Session, budget: int, focus: str = "") -> CompactionEdit | None:
    """Brings the session to at most `budget` tokens; None if no compaction was needed or possible.

    Where a compaction alone cannot, the oldest messages are left out and the largest blocks cut. Raises `CannotFit`
    when even that stays above the budget.
    """
    if session.used <= budget:
        return None
    # A reported figure may be above what the view counts; a compaction must make the count smaller, too.
    best = await _best(workspace, session, min(budget, session.counted_view().used - 1), focus)
    edit = apply_and_tell(workspace, best.planned, best.summary).edit if best else None
    session = workspace.session(session.id)
    if session.used > budget:
        session = fit_limit(workspace, session, budget)
    if session.used > budget:
        raise CannotFit(
            f"a budget of {budget:,} tokens is too small: what must stay counts {session.used:,} even when cut down"
        )
    return edit


async def _best(workspace: Workspace, session: Session, budget: int, focus: str) -> _Candidate | None:
    attempt = _Attempt(
        limits=CompactionLimits(target=budget, keep_tail=budget, summary=budget, keep_old=keep_old(budget))
    )
    best: _Candidate | None = None
    for _ in range(_TRIES):
        found = await _try(workspace, session, attempt, focus)
        if found is None:
            break
        if best is None or _rank(found, budget) > _rank(best, budget):
            best = found
        following = _next(attempt, found, budget)
        if budget * _FULL <= found.after <= budget or following == attempt:
            break
        attempt = following
    return best


async def _try(workspace: Workspace, session: Session, attempt: _Attempt, focus: str) -> _Candidate | None:
    try:
        planned = await plan(workspace, session, attempt.limits, EditTrigger.MANUAL, attempt.block_share)
    except NothingToCompact:
        return None
    request = summary_request(workspace, planned, focus)
    summary = await write_summary(workspace, planned, request, replace(SUMMARIES[0], focus=focus))
    after = compaction_block(finish(workspace, planned, summary)).context_size_after
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
