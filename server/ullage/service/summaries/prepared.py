"""Summaries that a model wrote in the background: until when they hold, and how a compaction takes one."""

import asyncio

from msgspec.structs import replace

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.service.conversation.session import Planned, Preparation, Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.offline import compose_aside
from ullage.summary.by_model.check import text_room
from ullage.summary.request import SummaryRequest
from ullage.transcript.cut_points import cut_points

# The messages that came since may take this share of a compaction's target; beyond it the summary is too old.
_TAIL_SHARE = 0.6


def holding(workspace: Workspace, session: Session) -> Preparation | None:
    """The preparation, if what it summarises is still the beginning of the view: no edit came after it."""
    found = workspace.preparations.get(session.id)
    return found if found is not None and found.edits_seen == session.edits_seen else None


def tail_for(workspace: Workspace, session: Session, limits: CompactionLimits) -> CompactionLimits:
    """Limits under which all that the prepared summary does not know stays verbatim, if the target allows it."""
    found = holding(workspace, session)
    if found is None:
        return limits
    view = session.counted_view()
    known = next((i for i, message in enumerate(view.messages) if message.id not in found.ids), len(view.messages))
    cut = max(at for at in cut_points(view.messages) if at <= known)
    since = sum(view.tokens[cut:])
    if since <= limits.keep_tail or since > limits.target * _TAIL_SHARE:
        return limits
    return replace(limits, keep_tail=since, whole_turns=1.0)


async def take_prepared(workspace: Workspace, planned: Planned, request: SummaryRequest) -> Summary | None:
    """The prepared summary for a plan, waited for while it is being written; None if there is none or it does not
    hold for what the plan archives. Its ledger is made anew for that."""
    session = workspace.session(planned.session_id)
    found = holding(workspace, session)
    if found is None or not found.ids.issuperset(item.message.id for item in planned.plan.head):
        workspace.drop_preparation(session.id)
        return None
    await asyncio.wait([found.task])
    if found.task.cancelled() or found.task.exception() is not None:
        return None
    summary = found.task.result()
    ledger = (await compose_aside(request, session.counter, workspace.reader)).ledger
    if session.counter.count(summary.text) > text_room(request, ledger, session.counter):
        return None
    return replace(summary, ledger=ledger)
