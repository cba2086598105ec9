"""Writing a new summary: the request to the summarizer, collecting its answer, and reading messages ahead of it.

Preparations: summaries that a model writes in the background, from `summary.prepareAt` on, so that a compaction
need not wait. This module says when a preparation begins, how long it is valid, and how a compaction takes it.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.model.errors import NothingToCompact
from ullage.model.events import EditTrigger, MessageAppended, SummaryReported
from ullage.model.message import Message
from ullage.model.settings import TruncationMode, settled_prepare_at
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.policy.budget import ContextBudget
from ullage.redaction.clean import hide
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.projection import counting_work
from ullage.service.conversation.work import Ask, Job, Preparation
from ullage.service.plan import SUMMARIES, Attempt, aimed, automatic_limits, firm, in_thread, plan_within
from ullage.service.summaries.by_model import OfflineSummarizer, Progress, compose_beside, model_writer, writes_by_model
from ullage.summary.draft import text_room
from ullage.summary.summary_request import SummaryRequest
from ullage.transcript.fold import taken_back
from ullage.transcript.view import Item, cut_points, without_oldest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.reader import Check


class SummaryProgress:
    """Publishes waits for the provider, and records the usage of the summary's requests. Chunks of text are ignored."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def piece(self, text: str, /) -> None:
        """Ignores the chunk; `CompactionProgress` publishes it."""

    def waiting(self, notice: Update, /) -> None:
        self.conversation.emit(notice)

    def spent(self, model: str, usage: Usage, /) -> None:
        """Records the usage, unless the session was closed meanwhile."""
        if self.conversation.is_open:
            self.conversation.record(SummaryReported(usage=usage, model=model))


class SilentProgress(SummaryProgress):
    """Records the usage of a summary's requests and publishes nothing, because no user waits for the summary."""

    def waiting(self, notice: Update, /) -> None:
        """Ignores the notice of a wait."""


async def write_anew(
    conversation: Conversation, request: SummaryRequest, progress: Progress, attempt: Attempt = SUMMARIES[0]
) -> Summary:
    """Returns a new summary for a request, whose `attempt.skip` oldest message groups are left out.

    Offline code writes it if `attempt.offline`; else the model that the settings name, or the summarizer port.
    `progress` gets each chunk of text. Raises `ProviderError` or `InvalidRequest`.
    """
    workspace = conversation.workspace
    if not attempt.offline and writes_by_model(conversation):
        summarizer = model_writer(conversation, attempt.skip, progress)
    else:
        summarizer = OfflineSummarizer() if attempt.offline else workspace.ports.summarizer
        request = _without_oldest(request, attempt.skip)
    stream = await summarizer.summarize(request, conversation.projection.counter, workspace.reader)
    pieces: list[str] = []
    async for piece in stream.pieces:
        pieces.append(piece)
        progress.piece(piece)
    return Summary(text="".join(pieces), ledger=stream.ledger, summarizer=summarizer.name, sealed=stream.sealed)


async def summary_request(conversation: Conversation, planned: Planned, focus: str = "") -> SummaryRequest:
    """Returns the request for the summary of a plan's head. The messages have the content that they have in the log,
    before edits cleared or shortened it, without private text. The tail is as it stays. Of what earlier compactions
    archived, the messages are read again, unless the user took them back."""
    plan = planned.plan
    ratio = conversation.projection.tracker.calibration.ratio
    head = tuple(item.message for item in plan.head)
    tail = tuple(item.message for item in planned.view.items if item.index >= plan.end)
    logged = await _logged(conversation, planned)
    originals = tuple(logged.get(message.id, (0, message))[1] for message in (*head, *tail))
    whole = originals[len(head) :]
    earlier = _earlier(logged, planned) if plan.previous else {}
    request = SummaryRequest(
        messages=originals[: len(head)],
        indices=tuple(item.index for item in plan.head),
        max_tokens=max(1, int(plan.summary_tokens / ratio)),
        previous=plan.previous,
        earlier=tuple(earlier.values()),
        earlier_indices=tuple(earlier),
        kept=(*plan.leading, *plan.kept),
        tail=tail,
        whole=whole if whole != tail else (),
        focus=focus,
    )
    # The key has the patterns themselves, which must not be hidden.
    key, cwd = conversation_key(conversation), conversation.transcript.cwd
    return replace(hide(request, planned.private), conversation=key, cwd=cwd)


def _without_oldest(request: SummaryRequest, skip: int) -> SummaryRequest:
    """Returns the request without the `skip` oldest groups of messages, which keep calls with results."""
    if not skip:
        return request
    left = {message.id for message in without_oldest(request.messages, request.kept, skip)}
    stays = [i for i, message in enumerate(request.messages) if message.id in left]
    return replace(
        request,
        messages=tuple(request.messages[i] for i in stays),
        indices=tuple(request.indices[i] for i in stays),
    )


async def _logged(conversation: Conversation, planned: Planned) -> dict[str, tuple[int, Message]]:
    """Returns the messages of the log by their ids, each with its index, without those that the user took back. Empty
    if the view has all of them as they were appended."""
    if not planned.cuts and not conversation.transcript.edits_in_force:
        return {}
    records = await asyncio.to_thread(conversation.workspace.ports.store.read_apart, conversation.id)
    gone = taken_back(records)
    messages = [record.event.message for record in records if isinstance(record.event, MessageAppended)]
    return {message.id: (index, message) for index, message in enumerate(messages) if message.id not in gone}


def _earlier(logged: dict[str, tuple[int, Message]], planned: Planned) -> dict[int, Message]:
    """Returns the messages that earlier compactions archived, by index; none if the log lacks their content."""
    known = {item.message.id for item in planned.plan.head}
    earlier = {
        index: message for index, message in logged.values() if index < planned.plan.end and message.id not in known
    }
    return earlier if all(message.content for message in earlier.values()) else {}


_log = logging.getLogger(__name__)
# A share of the compaction threshold. Most sessions end before it and cost nothing; from there on reading is done long
# before the compaction.
_FROM = 0.5
# Characters read at a time, in about 15 ms. In between the thread is free for other work.
_SLICE = 32_000


def read_ahead(conversation: Conversation) -> None:
    """Begins to read the messages that were not read yet, in the background, if the context is large enough and gets
    summaries. Returns at once. One conversation of a workspace is read at a time."""
    work, budget = conversation.work, conversation.budget
    if work.reading is not None or budget is None or conversation.used < budget.compact_at * _FROM:
        return
    # Edits have emptied messages, or put a summary in their place.
    if conversation.settings.mode is TruncationMode.SUMMARIZE and not conversation.transcript.edits_in_force:
        work.reading = asyncio.get_running_loop().create_task(_read(conversation))
        work.reading.add_done_callback(partial(_ended, conversation))


async def _read(conversation: Conversation) -> None:
    try:
        # A compaction reads everything itself.
        while not conversation.work.is_running(Job.COMPACTING):
            async with conversation.workspace.reading:
                items = _unread(conversation)
                if not items:
                    return
                # Before the reading, so that a text that can't be read is not tried again with every append.
                conversation.guards.read_to = items[-1].index + 1
                await in_thread(partial(_read_slice, conversation, items))
    finally:
        # Not in a callback, which would run after an append that finds the reading still there.
        if conversation.work.reading is asyncio.current_task():
            conversation.work.reading = None


def _unread(conversation: Conversation) -> Sequence[Item]:
    """Returns the next slice of the view's messages to read. Empty if all are read."""
    items = conversation.transcript.items
    first = stop = bisect_left(items, conversation.guards.read_to, key=lambda item: item.index)
    room = _SLICE
    while stop < len(items) and room > 0:
        room -= counting_work(items[stop].message)
        stop += 1
    return items[first:stop]


def conversation_key(conversation: Conversation) -> str:
    """Returns the key under which a reader remembers a conversation: private patterns change its messages."""
    return "\n".join((conversation.id, *conversation.settings.private_patterns))


def _read_slice(conversation: Conversation, items: Sequence[Item], check: "Check") -> None:
    private = conversation.settings.private_patterns
    conversation.workspace.reader.go_on(
        conversation_key(conversation),
        [hide(item.message, private) for item in items],
        [item.index for item in items],
        cwd=conversation.transcript.cwd,
        check=check,
    )


def _ended(conversation: Conversation, task: asyncio.Task[None]) -> None:
    """Logs the error of a reading that failed. A compaction will read the rest, or fail with the same error."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("session %s: reading ahead broke down", conversation.id, exc_info=error)


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
    task = asyncio.get_running_loop().create_task(_prepare(conversation, budget))
    task.add_done_callback(partial(_preparation_ended, conversation))
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
    """Returns the preparation if no edit was made since it began: its messages still begin the view."""
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


async def _prepare(conversation: Conversation, budget: ContextBudget) -> Summary:
    staying = firm(conversation, budget)
    limits = automatic_limits(aimed(budget, staying))
    planned = await plan_within(conversation, limits, EditTrigger.AUTOMATIC, staying=staying)
    request = await summary_request(conversation, planned)
    return await write_anew(conversation, request, SilentProgress(conversation))


def _preparation_ended(conversation: Conversation, task: "asyncio.Task[Summary]") -> None:
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
