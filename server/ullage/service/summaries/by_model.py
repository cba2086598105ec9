"""Who writes a summary: a model, at the end of the conversation that it is to summarize, the provider by itself, whose
summary is sealed, or the offline summarizer.

A model is sent the request of the conversation's next turn (`live_request` in `service/asking.py`), so that the
provider's cache is used, with the instructions of `summary/draft.py` (`write_instructions`) at its end. If that is too
long, it is asked again without the oldest messages. Its answer passes `Draft`, which lets through complete entries
without secrets and without what the ledger contradicts. The page below the answer is made by code
(`summary/composition.py`).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.answer import CompactionSealed, Finished, Fragment, ModelRequest, TextDelta, UsageDelta
from ullage.model.errors import AnswerBroken, ContextTooLong, InvalidRequest, NoModelConfigured, UllageError
from ullage.model.message import Message, SealedCompaction
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.service.asking import DEFAULT_MAX_TOKENS, Waits, live_request, margin, stream_with_retries
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.models import Provider, Summarizer, SummaryStream
from ullage.summary.draft import Draft, check_draft, check_fragment, check_length, text_room, write_instructions
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.view import kept, leading, without_oldest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.ledger.ledger_entry import Entry
    from ullage.summary.composition import Composition
    from ullage.summary.reader import Reader


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
    # Tools are not refused by `tool_choice` where a change of it would invalidate a cache that the request uses. A
    # request to another model, or with other messages, uses no cache.
    capabilities = _provider(conversation).capabilities(_model(conversation))
    return Reading(
        request=_request(conversation, limits.max_output, compacts=_compacts(conversation, skip)),
        stays=frozenset(stays),
        sizes={message.id: tokens for message, tokens in zip(messages, view.tokens, strict=True)},
        used=conversation.used,
        ratio=projection.tracker.calibration.ratio,
        margin=margin(conversation),
        window=limits.input,
        skip=skip,
        offers_tools=capabilities.caches_tool_choice and not conversation.workspace.settings.summary.model and not skip,
    )


def _compacts(conversation: Conversation, skip: int) -> bool:
    """Returns whether the provider is to compact: it can, the context is large enough, nothing is skipped."""
    least = _provider(conversation).capabilities(_model(conversation)).compacts_from
    return least is not None and conversation.used >= least and not skip


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
