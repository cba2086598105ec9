"""Compaction to a number of tokens: as full as the context can be made, and never more.

A plan must set the summary's room aside before it knows how much there is to say. What the summary then leaves
over goes to the tail in the next try, so that little of the budget stays unused.
"""

from msgspec import Struct

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.model.edits import CompactionEdit, EditTrigger, compaction_block
from ullage.model.errors import CannotFit, NothingToCompact
from ullage.service.compaction import apply_and_tell, finish, plan, write_summary
from ullage.service.session import Planned, Session
from ullage.service.shrink import fit_limit
from ullage.service.workspace import Workspace

# A result that uses this share of the budget is as good as full; groups of messages cannot be parted for the rest.
_FULL = 0.95
_TRIES = 4
# Later tries prefer a tail of whole turns only if it wastes next to nothing.
_WHOLE_TURNS = 0.95
# What stands around a summary (the marker's head line, headings) beside what was measured of it, tokens.
_SLACK = 64


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
    best = await _best(workspace, session, budget, focus)
    edit = apply_and_tell(workspace, best.planned, best.summary) if best else None
    session = fit_limit(workspace, workspace.session(session.id), budget)
    if session.used > budget:
        raise CannotFit(
            f"a budget of {budget:,} tokens is too small: what must stay counts {session.used:,} even when cut down"
        )
    return edit


async def _best(workspace: Workspace, session: Session, budget: int, focus: str) -> _Candidate | None:
    # A reported figure may be above what the view counts; a compaction must make the count smaller, too.
    aim = min(budget, session.counted_view().used - 1)
    limits = CompactionLimits(target=aim, keep_tail=aim, summary=aim)
    best: _Candidate | None = None
    for _ in range(_TRIES):
        found = await _try(workspace, session, limits, focus)
        if found is None:
            break
        if best is None or best.after < found.after <= aim or found.after < best.after > aim:
            best = found
        if aim * _FULL <= found.after <= aim:
            break
        said = found.after - found.planned.plan.used_without_marker
        limits = CompactionLimits(target=aim, keep_tail=aim, summary=said + _SLACK, whole_turns=_WHOLE_TURNS)
    return best


async def _try(workspace: Workspace, session: Session, limits: CompactionLimits, focus: str) -> _Candidate | None:
    try:
        planned = plan(workspace, session, limits, EditTrigger.MANUAL)
    except NothingToCompact:
        return None
    summary = await write_summary(workspace, planned, focus, lambda _: None)
    after = compaction_block(finish(planned, summary)).context_size_after
    return _Candidate(planned=planned, summary=summary, after=after)
