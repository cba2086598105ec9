"""Every way of making room as a case: how it is planned, and how small it must be able to make a context."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from lawcheck import floors
from lawcheck.situation import Situation, plan_with_summary
from support.workspace import LARGE_MODEL, CountingIds, FixedClock, build_test_workspace
from ullage.edits.counted import Stamp
from ullage.edits.drop import Keep, make_chain, plan_truncation
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited, Edit, SessionCreated
from ullage.model.settings import (
    RangeKeep,
    Selective,
    SlidingWindow,
    Smart,
    StrategySettings,
    TokenBudget,
    TruncateRange,
)
from ullage.service.compact.by_hand import fit_budget
from ullage.service.plan import CHEAP, LAST_RESORT, TRUNCATIONS, Rung, climb


class Case(Struct, frozen=True, kw_only=True):
    """A way of making room. If a case has a `floor`, it must meet every limit that is not below the floor. If it
    `promises`, each edit that it makes must meet the limit. Other cases may stop before the limit is met."""

    name: str
    plan: Callable[[Situation], Sequence[Edit]]
    floor: Callable[[Situation], int] | None = None
    promises: bool = False


def _climb(rungs: Sequence[Rung], situation: Situation) -> Sequence[Edit]:
    return [edit for _, edit in climb(rungs, situation.view, situation.terms)]


def _rung(rung: Rung) -> Case:
    return Case(name=rung.what, plan=partial(_climb, (rung,)), floor=_FLOORS.get(rung.what))


def _chain(*strategies: StrategySettings) -> Case:
    """Returns a case that applies strategies one after the other until no more messages may be dropped."""
    return Case(
        name=", then ".join(map(_named, strategies)),
        plan=partial(_truncate, strategies),
        floor=floors.of_whole_groups,
    )


def _named(strategy: StrategySettings) -> str:
    name = str(strategy.__struct_config__.tag)
    return f"{name} {strategy.keep}" if isinstance(strategy, TruncateRange) else name


def _truncate(strategies: Sequence[StrategySettings], situation: Situation) -> Sequence[Edit]:
    terms = situation.terms
    keep = Keep(
        pinned=frozenset(situation.transcript.pinned),
        first_user_id=situation.transcript.first_user_id,
        relied=terms.relied,
    )
    return plan_truncation(situation.view, make_chain(strategies), situation.limit, keep, terms.new_stamp())


def fit(situation: Situation) -> Sequence[Edit]:
    """Goes the whole way through the service: fits a session in memory into a budget with the offline summary and, if
    that is not enough, with the last rungs. Returns the edits that `fit_budget` records, or none if it refuses."""
    return asyncio.run(_fit(situation))


async def _fit(situation: Situation) -> Sequence[Edit]:
    # Only the situation knows the tokens that are added to the messages.
    budget = situation.limit - situation.view.fixed
    workspace = build_test_workspace(FixedClock(), CountingIds())
    session = workspace.adopt("s", [SessionCreated(model=LARGE_MODEL), *situation.events])
    began = session.transcript.position
    try:
        await fit_budget(session, budget)
    except CannotFit:
        return ()
    records = workspace.ports.store.read("s", began + 1)
    return [record.event.edit for record in records if isinstance(record.event, ContextEdited)]


_FLOORS = {"older messages": floors.of_whole_groups}

CASES: tuple[Case, ...] = (
    *map(_rung, (*CHEAP, *TRUNCATIONS)),
    *(_chain(strategy()) for strategy in (SlidingWindow, TokenBudget, Selective, Smart)),
    *(_chain(TruncateRange(keep=keep)) for keep in RangeKeep),
    _chain(Selective(), TruncateRange(), SlidingWindow(max_messages=6)),
    Case(name="all cheap edits", plan=partial(_climb, CHEAP)),
    Case(
        name="all that is left without a summary",
        plan=partial(_climb, (*TRUNCATIONS, LAST_RESORT)),
        floor=floors.of_everything_cut,
    ),
    Case(
        name="compaction",
        plan=lambda situation: plan_with_summary(situation, Stamp(id="e1", timestamp=1_000)),
        promises=True,
    ),
    Case(name="fitting a budget, offline", plan=fit, floor=floors.of_everything_cut),
)
