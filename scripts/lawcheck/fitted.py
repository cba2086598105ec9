"""The whole way through the service: a session in memory brought down to a budget by the offline summary and, where
that is not enough, the last rungs."""

import asyncio
from collections.abc import Sequence

from lawcheck.situation import Situation
from support.workspace import LARGE_MODEL, CountingIds, FixedClock, build_test_workspace
from ullage.model.edits import Edit
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited, SessionCreated
from ullage.service.compact.to_budget import fit_budget


def fit(situation: Situation) -> Sequence[Edit]:
    """The edits that `fit_budget` records; none where it says that it cannot."""
    return asyncio.run(_fit(situation))


async def _fit(situation: Situation) -> Sequence[Edit]:
    # What comes on top of the messages is known to the situation only.
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
