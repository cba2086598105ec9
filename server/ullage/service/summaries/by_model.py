"""The summariser that asks a model, at the end of the very conversation it is to summarise."""

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
from ullage.service.summaries.offline import compose_aside
from ullage.summary.by_model.check import check_draft, check_fragment, check_length, text_room
from ullage.summary.by_model.draft import Draft
from ullage.summary.by_model.prompt import write_instructions
from ullage.summary.reading.reader import Reader
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.keep import without_oldest

# How many of the oldest pairs are left out, one try after the other, while the provider finds the request too long.
# First one, since that keeps most; then steps that end soon, for each try uploads the conversation again.
_LEFT_OUT = (0, 1, 4, 16, 64)
# No report has spoken of the instructions yet: their count may be further off than that of the conversation.
_UNREPORTED = 1.15


class Reading(Struct, frozen=True, kw_only=True):
    """What the model is given to read: the live request as it stands, its `max_tokens` the model's longest answer.

    `stays` are messages that are never left out. `used` are the tokens of the whole prompt, `sizes` those of each
    message; what is counted beside them is taken `ratio` times, and all may turn out larger by the share `margin`.
    `window` is the most tokens the model accepts, if known. `skip` pairs are left out from the start. `offers_tools`
    leaves it to our instructions that none is called, as long as the request is one that the provider's cache knows.
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
    """What happens while a summary is written."""

    def piece(self, text: str, /) -> None:
        """A piece of the summary has come."""
        ...

    def waiting(self, notice: Update, /) -> None:
        """The provider is busy, and will be asked again."""
        ...

    def spent(self, model: str, usage: Usage, /) -> None:
        """A request to the model has ended, however, and the provider counted this."""
        ...


class ModelSummarizer:
    """Sends a session's live request with our instructions at its end, so that the provider's cache is hit, and checks
    what comes back. The ledger is code's own."""

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

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        """Raises `AnswerBroken`, while the pieces are read, for an answer that is no summary."""
        ledger = (await compose_aside(request, counter, reader)).ledger
        room = text_room(request, ledger, counter)
        return SummaryStream(ledger=ledger, pieces=self._write(request, room, counter))

    async def _write(self, request: SummaryRequest, room: int, counter: TokenCounter) -> AsyncGenerator[str]:
        instructions = write_instructions(request, room, self._own)
        for asked in self._requests(counter.count(instructions), room):
            begun = False
            try:
                async with aclosing(self._ask(replace(asked, instructions=instructions), room, counter)) as pieces:
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
        """The request, then with less and less to read; those that leave a summary of `room` tokens none are not sent.
        Where the provider compacts itself it is asked for that first: not every model can."""
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
        """The most tokens of an answer beside these messages: providers refuse what does not fit together."""
        reading = self._reading
        if reading.window is None:
            return reading.request.max_tokens
        read = {message.id for message in messages}
        left_out = sum(size for message_id, size in reading.sizes.items() if message_id not in read)
        prompt = reading.used - left_out + instructions * reading.ratio * _UNREPORTED
        return min(reading.request.max_tokens, int(reading.window - prompt * (1 + reading.margin)))

    async def _ask(self, asked: ModelRequest, room: int, counter: TokenCounter) -> AsyncGenerator[str]:
        draft, written, is_whole = Draft(), 0, False
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
        """The answer; what it cost is told when it ends, also in the middle."""
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
