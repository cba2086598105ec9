"""Preparations: summaries that a model writes in the background, from `summary.prepareAt` on, so that a compaction
need not wait. This module says when a preparation begins, how long it is valid, and how a compaction takes it."""

import asyncio
import logging
from functools import partial

from msgspec.structs import replace

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.model.edits import EditTrigger
from ullage.model.errors import NothingToCompact
from ullage.model.settings import TruncationMode, settled_prepare_at
from ullage.policy.budget import ContextBudget
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.work import Ask, Preparation
from ullage.service.plan.ladder import SUMMARIES, Attempt
from ullage.service.plan.plan import aimed, automatic_limits, firm, plan_within
from ullage.service.summaries.by_model import Progress, writes_by_model
from ullage.service.summaries.offline import compose_beside
from ullage.service.summaries.write import SilentProgress, summary_request, write_anew
from ullage.summary.draft import text_room
from ullage.summary.summary_request import SummaryRequest
from ullage.transcript.cut_points import cut_points

_log = logging.getLogger(__name__)
# The messages that came after the preparation may take this share of a compaction's target. If they take more, the
# preparation is too old.
_TAIL_SHARE = 0.6


def write_ahead(conversation: Conversation) -> None:
    """Begins a preparation, a summary of the view written in the background, if the context is near the compaction
    threshold. Returns at once. A conversation has one preparation at a time; whether it succeeds or fails, the next one
    is begun after the next edit."""
    budget = conversation.budget
    if budget is None or not _is_time(conversation, budget) or not writes_by_model(conversation):
        return
    if not conversation.work.may(Ask.PREPARE, partial(write_ahead, conversation)):
        return
    conversation.work.drop_preparation()
    task = asyncio.get_running_loop().create_task(_write(conversation, budget))
    task.add_done_callback(partial(_ended, conversation))
    ids = frozenset(message.id for message in conversation.transcript.view)
    conversation.work.preparation = Preparation(ids=ids, edits_seen=conversation.edits_seen, task=task)


def tail_for(conversation: Conversation, limits: CompactionLimits) -> CompactionLimits:
    """Returns limits with a longer tail, so that all messages which the preparation does not cover stay verbatim, if
    the target allows it. Otherwise returns the limits unchanged."""
    found = _holding(conversation)
    if found is None:
        return limits
    view = conversation.projection.counted_view()
    known = next((i for i, message in enumerate(view.messages) if message.id not in found.ids), len(view.messages))
    cut = max(at for at in cut_points(view.messages) if at <= known)
    since = sum(view.tokens[cut:])
    if since <= limits.keep_tail or since > limits.target * _TAIL_SHARE:
        return limits
    return replace(limits, keep_tail=since, whole_turns=1.0)


async def write_summary(
    conversation: Conversation,
    planned: Planned,
    request: SummaryRequest,
    progress: Progress,
    attempt: Attempt = SUMMARIES[0],
) -> Summary:
    """Returns the summary for a plan: the preparation if it is valid for the plan, else a new summary written as
    `attempt` says. `progress` gets the text. Raises `ProviderError` or `InvalidRequest`."""
    if attempt == SUMMARIES[0] and not request.focus and conversation.work.preparation is not None:
        prepared = await _take(conversation, planned, request)
        if prepared is not None:
            progress.piece(prepared.text)
            return prepared
    return await write_anew(conversation, request, progress, attempt)


def _holding(conversation: Conversation) -> Preparation | None:
    """Returns the preparation if no edit was made since it began, so that its messages are still the beginning of the
    view. Otherwise returns None."""
    found = conversation.work.preparation
    return found if found is not None and found.edits_seen == conversation.edits_seen else None


def _is_time(conversation: Conversation, budget: ContextBudget) -> bool:
    settings, used = conversation.workspace.settings.summary, conversation.used
    limit = budget.usable if settings.confirm else budget.compact_at
    return (
        used < limit
        and int(budget.usable * settled_prepare_at(settings, conversation.settings)) <= used
        and conversation.settings.mode is TruncationMode.SUMMARIZE
        and not conversation.guards.breaker.is_open
        and _holding(conversation) is None
    )


async def _write(conversation: Conversation, budget: ContextBudget) -> Summary:
    staying = firm(conversation, budget)
    limits = automatic_limits(aimed(budget, staying))
    planned = await plan_within(conversation, limits, EditTrigger.AUTOMATIC, staying=staying)
    request = await summary_request(conversation, planned)
    return await write_anew(conversation, request, SilentProgress(conversation))


def _ended(conversation: Conversation, task: "asyncio.Task[Summary]") -> None:
    """Logs the error of a failed preparation. If there was nothing to summarize, the preparation is dropped, so that
    one may begin after the next message."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.info("preparing a summary failed: %s", error)
    found = conversation.work.preparation
    if isinstance(error, NothingToCompact) and found is not None and found.task is task:
        conversation.work.drop_preparation()


async def _take(conversation: Conversation, planned: Planned, request: SummaryRequest) -> Summary | None:
    """Returns the prepared summary for a plan, with a new page and ledger, and without what has become false since.
    Waits if the summary is still being written. Returns None if there is no preparation, if it failed, or if it does
    not cover the messages that the plan archives or does not fit the plan's room."""
    found = _holding(conversation)
    if found is None or not found.ids.issuperset(item.message.id for item in planned.plan.head):
        conversation.work.drop_preparation()
        return None
    await asyncio.wait([found.task])
    if found.task.cancelled() or found.task.exception() is not None:
        return None
    summary, counter = found.task.result(), conversation.projection.counter
    # Imported on use: a server that compacts nothing is to start soon.
    from ullage.ledger.contradiction import without_contradictions  # noqa: PLC0415
    from ullage.summary.composition import above_page  # noqa: PLC0415

    beside = await compose_beside(request, counter, conversation.workspace.reader)
    said, page = without_contradictions(above_page(summary.text), beside.known), beside.page
    if summary.sealed is not None or not said:
        said, page = summary.text, ""
    if counter.count(said) > text_room(request, beside.ledger, counter, page):
        return None
    return replace(summary, text=f"{said.rstrip()}\n\n{page}" if page else said, ledger=beside.ledger)
