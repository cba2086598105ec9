"""The whole way through the service: fits a session in memory into a budget with the offline summary and, if that is
not enough, with the last rungs."""

import asyncio
from collections.abc import Sequence

from lawcheck.situation import Situation
from support.workspace import LARGE_MODEL, CountingIds, FixedClock, build_test_workspace
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited, Edit, SessionCreated
from ullage.service.compact.by_hand import fit_budget


def fit(situation: Situation) -> Sequence[Edit]:
    """Returns the edits that `fit_budget` records, or none if it raises that the context cannot fit."""
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
