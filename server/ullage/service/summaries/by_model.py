"""The summarizer that asks a model, at the end of the conversation that the model is to summarize."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.answer import Finished, Fragment, ModelRequest, TextDelta, UsageDelta
from ullage.model.errors import AnswerBroken, ContextTooLong, InvalidRequest
from ullage.model.message import Message
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.service.asking.retries import Waits, stream_with_retries
from ullage.service.ports.models import Provider, SummaryStream
from ullage.service.summaries.offline import compose_beside, with_page
from ullage.summary.draft import Draft, check_draft, check_fragment, check_length, text_room
from ullage.summary.instructions import write_instructions
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.cut_points import without_oldest

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
        """Begins a summary. Reading `pieces` of the result sends the request; it raises `AnswerBroken` if the answer is
        not a summary, and the provider's errors."""
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
        """Yields the fragments of the answer. Its usage is passed to `Progress.spent` at the end, also if the answer
        breaks off."""
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
