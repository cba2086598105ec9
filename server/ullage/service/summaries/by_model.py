"""Who writes a summary: a model, at the end of the conversation that it is to summarize, the provider by itself, whose
summary is sealed, or the offline summarizer.

A model is sent the request of the conversation's next turn (`live_request` in `service/asking.py`), so that the
provider's cache is used, with the instructions of `summary/draft.py` (`write_instructions`) at its end. If that is too
long, it is asked again without the oldest messages. Its answer passes `Draft`, which lets through complete entries
without secrets and without what the ledger contradicts. The page below the answer is made by code
(`summary/composition.py`).

Preparations are summaries that a model writes in the background, from `summary.prepareAt` on, so that a compaction
need not wait. Messages are read ahead for the offline summarizer."""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import CompactionLimits, Summary
from ullage.model.answer import CompactionSealed, Finished, Fragment, ModelRequest, TextDelta, UsageDelta
from ullage.model.errors import (
    AnswerBroken,
    ContextTooLong,
    InvalidRequest,
    NoModelConfigured,
    NothingToCompact,
    UllageError,
)
from ullage.model.events import ContextEdited, EditTrigger, MessageAppended, RewindEdit, SummaryReported
from ullage.model.message import Message, SealedCompaction
from ullage.model.settings import TruncationMode, settled_prepare_at
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.policy.budget import ContextBudget
from ullage.redaction.privacy import hide
from ullage.service.asking import DEFAULT_MAX_TOKENS, Waits, live_request, margin, stream_with_retries
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.projection import counting_work
from ullage.service.conversation.work import Ask, Job, Preparation
from ullage.service.plan import SUMMARIES, Attempt, aimed, automatic_limits, firm, in_thread, plan_within
from ullage.service.ports.models import Provider, Summarizer, SummaryStream
from ullage.summary.draft import Draft, check_draft, check_fragment, check_length, text_room, write_instructions
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.fold import reverted_ids
from ullage.transcript.view import Item, cut_points, kept, leading, without_oldest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.ledger.ledger_entry import Entry
    from ullage.summary.composition import Composition
    from ullage.summary.reader import Check, Reader


# While the provider finds the request too long, this many of the oldest pairs are left out, one try after the other.
# The first step is one pair, because that keeps most. The later steps are large, because each try uploads the
# conversation again.
_LEFT_OUT = (0, 1, 4, 16, 64)
# The provider has not reported the tokens of our instructions yet, so their count may be further off than the
# conversation's.
_UNREPORTED = 1.15


class Reading(Struct, frozen=True, kw_only=True):
    """The request after which a model is asked for a summary of the messages in it, and figures of its size.

    `request`: the request of the session's next turn; its `max_tokens` is the model's longest answer. `stays`: ids of
    messages that are never left out. `used`: tokens of the whole prompt. `sizes`: tokens of each message by id.
    `ratio`: the provider's tokens per locally counted token. `margin`: the share by which the provider's count of the
    prompt may exceed ours. `window`: the most tokens that the model accepts, None if unknown. `skip`: the number of the
    oldest message groups that are left out from the first try on. `offers_tools`: tools are not refused by
    `tool_choice` on the first try, because a changed `tool_choice` invalidates the provider's cache. The instructions
    forbid tool calls instead.
    """

    request: ModelRequest
    stays: frozenset[str]
    sizes: Mapping[str, int]
    used: int
    ratio: float = 1.0
    margin: float = 0.0
    window: int | None = None
    skip: int = 0
    offers_tools: bool = False


class Progress(Protocol):
    """Callbacks that are called while a summary is written."""

    def piece(self, text: str, /) -> None:
        """Called with each chunk of the summary's text."""
        ...

    def waiting(self, notice: Update, /) -> None:
        """Called with the notice that the provider is busy and will be asked again."""
        ...

    def spent(self, model: str, usage: Usage, /) -> None:
        """Called with the provider's usage when a request has ended, successfully or not."""
        ...


class ModelSummarizer:
    """Asks a model for the summary: sends the request of the session's next turn with instructions at its end, so that
    the provider's cache is used, and checks the answer. The ledger and the page below the answer are made by code."""

    def __init__(
        self, provider: Provider, reading: Reading, own: Sequence[str], progress: Progress, waits: Waits
    ) -> None:
        self._provider = provider
        self._reading = reading
        self._own = own
        self._progress = progress
        self._waits = waits

    @property
    def name(self) -> str:
        return self._reading.request.model

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> SummaryStream:
        """Begins a summary. Reading `pieces` sends the request, and raises `AnswerBroken` or the provider's errors."""
        beside = await compose_beside(request, counter, reader)
        room = text_room(request, beside.ledger, counter, beside.page)
        pieces = with_page(self._write(request, room, counter, beside), beside.page)
        return SummaryStream(ledger=beside.ledger, pieces=pieces)

    async def _write(
        self, request: SummaryRequest, room: int, counter: TokenCounter, beside: "Composition"
    ) -> AsyncGenerator[str]:
        instructions = write_instructions(request, room, self._own, beside.page)
        for asked in self._requests(counter.count(instructions), room):
            begun = False
            try:
                whole = replace(asked, instructions=instructions)
                async with aclosing(self._ask(whole, room, counter, beside.known)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except ContextTooLong:
                if begun:
                    raise
            except (AnswerBroken, InvalidRequest):
                if begun or not asked.compacts:
                    raise
        raise ContextTooLong(f"{self.name} cannot read this conversation, it is too long even without its beginning")

    def _requests(self, instructions: int, room: int) -> Iterator[ModelRequest]:
        """Yields the requests to try in order: the whole one, then ones with fewer and fewer old messages. One that
        leaves too few tokens for a summary of `room` tokens is skipped. `instructions` is the tokens of the
        instructions. If the provider can compact by itself, a request for that comes first; not every model supports
        it."""
        asked = replace(self._reading.request, tools_refused=True)
        asked = replace(asked, max_tokens=max(1, self._longest(asked.messages, instructions)))
        if asked.compacts:
            yield asked
            asked = replace(asked, compacts=False)
        read, needed = None, min(self._reading.request.max_tokens, int(room * self._reading.ratio))
        for count in _LEFT_OUT:
            messages = asked.messages
            if count or self._reading.skip:
                messages = without_oldest(messages, self._reading.stays, max(count, self._reading.skip))
            longest = self._longest(messages, instructions)
            if len(messages) != read and longest >= needed:
                read = len(messages)
                refused = bool(count) or not self._reading.offers_tools
                yield replace(asked, messages=messages, max_tokens=longest, tools_refused=refused)

    def _longest(self, messages: Sequence[Message], instructions: int) -> int:
        """Returns the most tokens that the answer to these messages and the instructions (also in tokens) may have.
        Providers refuse a request whose prompt and longest answer together exceed the window."""
        reading = self._reading
        if reading.window is None:
            return reading.request.max_tokens
        read = {message.id for message in messages}
        left_out = sum(size for message_id, size in reading.sizes.items() if message_id not in read)
        prompt = reading.used - left_out + instructions * reading.ratio * _UNREPORTED
        return min(reading.request.max_tokens, int(reading.window - prompt * (1 + reading.margin)))

    async def _ask(
        self, asked: ModelRequest, room: int, counter: TokenCounter, known: Sequence["Entry"]
    ) -> AsyncGenerator[str]:
        from ullage.ledger.contradiction import otherwise  # noqa: PLC0415  (commands that ask no model start sooner)

        draft = Draft(lambda entry: next(otherwise(known, entry), None) is not None)
        written, is_whole = 0, False
        async with aclosing(self._paid(asked)) as fragments:
            async for fragment in fragments:
                check_fragment(fragment)
                is_whole = is_whole or isinstance(fragment, Finished)
                if isinstance(fragment, TextDelta):
                    written += len(fragment.text)
                    check_length(written, room)
                    for piece in draft.add(fragment.text):
                        yield piece
        if not is_whole:
            raise AnswerBroken("the summary broke off")
        for piece in draft.end():
            yield piece
        check_draft(draft, written, room, counter)

    async def _paid(self, asked: ModelRequest) -> AsyncGenerator[Fragment]:
        """Yields the answer's fragments. Its usage goes to `Progress.spent` at the end, also if it breaks off."""
        usage = None
        try:
            async with aclosing(stream_with_retries(self._provider, asked, self._waits)) as fragments:
                async for fragment in fragments:
                    if isinstance(fragment, UsageDelta):
                        usage = fragment.usage
                    yield fragment
        finally:
            if usage is not None:
                self._progress.spent(self.name, usage)


class SealingSummarizer:
    """Has the provider make its own encrypted compaction of the archived messages. Only the provider can read it, so an
    offline summary is stored together with it, for the user and for other models. If the provider cannot compact, or
    its compaction is too large, the summarizer `fallback` writes instead."""

    def __init__(
        self, provider: Provider, request: ModelRequest, fallback: ModelSummarizer, progress: Progress, waits: Waits
    ) -> None:
        self._provider = provider
        self._request = request
        self._fallback = fallback
        self._progress = progress
        self._waits = waits

    @property
    def name(self) -> str:
        return self._request.model

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> SummaryStream:
        """Requests the provider's compaction, then begins the offline summary, or `fallback`'s."""
        try:
            sealed = await self._seal(request)
        except (AnswerBroken, InvalidRequest):
            return await self._fallback.summarize(request, counter, reader)
        if sealed.tokens > request.max_tokens:
            return await self._fallback.summarize(request, counter, reader)
        return replace(await OfflineSummarizer().summarize(request, counter, reader), sealed=sealed)

    async def _seal(self, request: SummaryRequest) -> SealedCompaction:
        data, tokens = "", 0
        archived = {message.id for message in request.messages}
        view = self._request.messages
        # An earlier sealed compaction among these messages is the provider's own and is sent back to the provider.
        end = max(index for index, message in enumerate(view) if message.id in archived) + 1
        asked = replace(self._request, messages=view[:end])
        async with aclosing(stream_with_retries(self._provider, asked, self._waits)) as fragments:
            async for fragment in fragments:
                if isinstance(fragment, CompactionSealed):
                    data = fragment.data
                elif isinstance(fragment, UsageDelta):
                    tokens = fragment.usage.output_tokens
                    self._progress.spent(self.name, fragment.usage)
        if not data:
            raise AnswerBroken(f"{self._provider.name} gave no compaction")
        return SealedCompaction(provider=self._provider.name, data=data, tokens=tokens)


def writes_by_model(conversation: Conversation) -> bool:
    """Returns whether a model writes this conversation's summaries, by the settings and the configured providers. Also
    True if a model is configured wrongly, so that the user sees the error."""
    writer = conversation.workspace.settings.summary.writer
    if writer != "auto":
        return writer == "model"
    try:
        return not _provider(conversation).capabilities(_model(conversation)).replays
    except NoModelConfigured:
        return False
    except UllageError:
        return True


def model_writer(conversation: Conversation, skip: int, progress: Progress) -> Summarizer:
    """Returns a summarizer that asks a model about the present view without its `skip` oldest message groups. If the
    provider seals its own compactions, such a compaction is tried first. Raises `NoModelConfigured`, `SdkMissing`, or
    `InvalidRequest` if the user's own instructions cannot be read."""
    workspace, name = conversation.workspace, conversation.model
    summary, models = workspace.settings.summary, workspace.settings.models
    of_model = models[name].summary_prompt if name in models else ""
    project = conversation.transcript.cwd if workspace.trusts_projects else ""
    own = (of_model, *workspace.ports.prompts(project, summary.prompt_file))
    provider, reading = _provider(conversation), _reading(conversation, skip)
    waits = Waits(clock=workspace.ports.clock, chance=workspace.ports.chance, publish=progress.waiting)
    if not (reading.request.compacts and provider.capabilities(reading.request.model).seals):
        return ModelSummarizer(provider, reading, own, progress, waits)
    request = replace(reading.request, compacts=False)
    fallback = ModelSummarizer(provider, replace(reading, request=request), own, progress, waits)
    return SealingSummarizer(provider, reading.request, fallback, progress, waits)


def _model(conversation: Conversation) -> str:
    return conversation.workspace.settings.summary.model or conversation.model


def _provider(conversation: Conversation) -> Provider:
    return conversation.workspace.ports.providers(_model(conversation), conversation.workspace.settings)


def _reading(conversation: Conversation, skip: int) -> Reading:
    transcript, projection = conversation.transcript, conversation.projection
    view = projection.counted_view()
    limits = conversation.workspace.limits(_model(conversation))
    messages = view.messages
    stays = {
        *leading(messages, transcript.first_user_id),
        *kept(messages, transcript.pinned),
        *(message.id for message in messages if message.compaction),
    }
    return Reading(
        request=_request(conversation, limits.max_output, compacts=_compacts(conversation, skip)),
        stays=frozenset(stays),
        sizes={message.id: tokens for message, tokens in zip(messages, view.tokens, strict=True)},
        used=conversation.used,
        ratio=projection.tracker.calibration.ratio,
        margin=margin(conversation),
        window=limits.input,
        skip=skip,
        offers_tools=_offers_tools(conversation, skip),
    )


def _compacts(conversation: Conversation, skip: int) -> bool:
    """Returns whether the provider is to compact: it can, the context is large enough, nothing is skipped."""
    least = _provider(conversation).capabilities(_model(conversation)).compacts_from
    return least is not None and conversation.used >= least and not skip


def _offers_tools(conversation: Conversation, skip: int) -> bool:
    """Returns whether tools should not be refused by `tool_choice`, because a changed `tool_choice` would invalidate a
    cache that the request uses. A request to another model, or with other messages, uses no cache."""
    capabilities = _provider(conversation).capabilities(_model(conversation))
    return capabilities.caches_tool_choice and not conversation.workspace.settings.summary.model and not skip


def _request(conversation: Conversation, max_output: int | None, *, compacts: bool) -> ModelRequest:
    live = live_request(conversation)
    longest = max_output or DEFAULT_MAX_TOKENS
    return replace(live, model=_model(conversation), max_tokens=longest, compacts=compacts)


class OfflineSummarizer:
    """Composes the summary by code alone, in a thread. `pieces` yields it section by section."""

    @property
    def name(self) -> str:
        return "offline"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> SummaryStream:
        composition = await compose_in_thread(request, counter, reader)
        return SummaryStream(ledger=composition.ledger, pieces=_hand_out(composition.pieces))


async def compose_in_thread(request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> "Composition":
    """Returns the offline summary and ledger, composed in a thread that ends with the task."""
    # Imported on use: commands that write no summary are to start soon.
    from ullage.service.plan import in_thread  # noqa: PLC0415
    from ullage.summary.composition import compose  # noqa: PLC0415

    return await in_thread(lambda check: compose(request, counter, reader, check))


async def compose_beside(request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> "Composition":
    """Returns the page and the ledger that stay below a model's words. Cancelling the task ends the thread's work."""
    from ullage.summary.composition import beside_model  # noqa: PLC0415

    return await compose_in_thread(beside_model(request), counter, reader)


async def with_page(pieces: AsyncGenerator[str], page: str) -> AsyncGenerator[str]:
    """Yields what a model writes, and then the page that stays below it."""
    piece = ""
    async with aclosing(pieces):
        async for piece in pieces:
            yield piece
    if page:
        yield f"{'' if piece.endswith(chr(10)) else chr(10)}\n{page}"


async def _hand_out(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        # Lets a cancellation that waits in the event loop take effect between two sections.
        await asyncio.sleep(0)


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
