"""Preparing a summary in the background, from `summary.prepareAt` on, so that a compaction need not wait for it."""

import asyncio
import logging
from functools import partial

from ullage.edits.compaction import Summary
from ullage.model.edits import EditTrigger
from ullage.model.errors import NothingToCompact
from ullage.model.strategies import TruncationMode
from ullage.policy.budget import ContextBudget
from ullage.service.compact.run import Hearing, automatic_limits, plan, summary_request, write_anew
from ullage.service.conversation.session import Preparation, Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.choose import writes_by_model
from ullage.service.summaries.prepared import holding

_log = logging.getLogger(__name__)


def prepare(workspace: Workspace, session: Session) -> None:
    """Begins a summary of the view if one will soon be needed. Returns at once. One at a time per session; another
    is begun once an edit has overtaken it, whether it succeeded or failed."""
    budget = workspace.budget(session)
    if budget is None or not _is_time(workspace, session, budget) or not writes_by_model(workspace, session):
        return
    workspace.drop_preparation(session.id)
    task = asyncio.get_running_loop().create_task(_write(workspace, session, budget))
    task.add_done_callback(partial(_ended, workspace, session.id))
    ids = frozenset(message.id for message in session.transcript.view)
    workspace.preparations[session.id] = Preparation(ids=ids, edits_seen=session.edits_seen, task=task)


def _is_time(workspace: Workspace, session: Session, budget: ContextBudget) -> bool:
    settings = workspace.settings.summary
    limit = budget.usable if settings.confirm else budget.compact_at
    busy = session.id in workspace.compacting or workspace.turns.is_answering(session.id)
    return (
        workspace.settings_of(session).mode is TruncationMode.SUMMARIZE
        and int(budget.usable * settings.prepare_at) <= session.used < limit
        and not busy
        and not session.breaker.is_open
        and holding(workspace, session) is None
    )


async def _write(workspace: Workspace, session: Session, budget: ContextBudget) -> Summary:
    planned = await plan(workspace, session, automatic_limits(budget), EditTrigger.AUTOMATIC)
    return await write_anew(
        workspace, planned, summary_request(workspace, planned), hearing=Hearing(update=lambda _: None)
    )


def _ended(workspace: Workspace, session_id: str, task: "asyncio.Task[Summary]") -> None:
    """A preparation that failed costs nobody anything: the compaction will ask again. One that found nothing to
    summarise is forgotten, since the next message may change that."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.info("preparing a summary failed: %s", error)
    found = workspace.preparations.get(session_id)
    if isinstance(error, NothingToCompact) and found is not None and found.task is task:
        workspace.drop_preparation(session_id)
