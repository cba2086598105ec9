"""Writing a new summary: the request to the summarizer, collecting its answer, and reading messages ahead of it."""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model.edits import RewindEdit
from ullage.model.events import ContextEdited, MessageAppended, SummaryReported
from ullage.model.message import Message
from ullage.model.settings import TruncationMode
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.redaction.privacy import hide
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.projection import counting_work
from ullage.service.conversation.work import Job
from ullage.service.plan.ladder import SUMMARIES, Attempt
from ullage.service.plan.plan import in_thread
from ullage.service.summaries.by_model import Progress, model_writer, writes_by_model
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.summary.checks import Check
from ullage.summary.summary_request import SummaryRequest
from ullage.transcript.cut_points import without_oldest
from ullage.transcript.fold import reverted_ids
from ullage.transcript.view import Item


class SummaryProgress:
    """Publishes waits for the provider, and records the usage of the summary's requests. Chunks of text are ignored."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def piece(self, text: str, /) -> None:
        """Ignores the chunk; `CompactionProgress` publishes it."""

    def waiting(self, notice: Update, /) -> None:
        """Publishes the notice of a wait."""
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
    """Returns the request without `skip` of the oldest message groups. Whole groups are left out, so that a tool
    call and its result stay together."""
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
    reverted = reverted_ids(records)
    taken_back: set[str] = set()
    messages: list[Message] = []
    for record in records:
        match record.event:
            case MessageAppended(message=message):
                messages.append(message)
            case ContextEdited(edit=RewindEdit(id=edit_id, message_ids=ids)) if edit_id not in reverted:
                taken_back.update(ids)
            case _:
                pass
    return {message.id: (index, message) for index, message in enumerate(messages) if message.id not in taken_back}


def _earlier(logged: dict[str, tuple[int, Message]], planned: Planned) -> dict[int, Message]:
    """Returns the messages that earlier compactions archived, by their indices. Empty if the log has not their
    content."""
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
    """Returns the key under which a reader remembers what it has folded of a conversation: other private patterns make
    other messages."""
    return "\n".join((conversation.id, *conversation.settings.private_patterns))


def _read_slice(conversation: Conversation, items: Sequence[Item], check: Check) -> None:
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
