"""The summariser for a provider that compacts itself and seals what it made."""

from contextlib import aclosing

from msgspec.structs import replace

from ullage.model.answer import CompactionSealed, ModelRequest, UsageDelta
from ullage.model.blocks import SealedCompaction
from ullage.model.errors import AnswerBroken, InvalidRequest
from ullage.service.asking.retries import Waits, stream_with_retries
from ullage.service.ports.models import Provider, SummaryStream
from ullage.service.summaries.by_model import ModelSummarizer, Progress
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.summary.reading.reader import Reader
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class SealingSummarizer:
    """Has the provider compact what is archived. Nobody else can read that, so the offline summary stands beside it:
    for the person, and for any other model that the session goes on with. A provider that cannot, or whose compaction
    is too large, is asked for a summary `otherwise`."""

    def __init__(
        self, provider: Provider, request: ModelRequest, otherwise: ModelSummarizer, progress: Progress, waits: Waits
    ) -> None:
        self._provider = provider
        self._request = request
        self._otherwise = otherwise
        self._progress = progress
        self._waits = waits

    @property
    def name(self) -> str:
        return self._request.model

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        """Raises what the provider raises, but for a refusal to compact."""
        try:
            sealed = await self._seal(request)
        except (AnswerBroken, InvalidRequest):
            return await self._otherwise.summarize(request, counter, reader)
        if sealed.tokens > request.max_tokens:
            return await self._otherwise.summarize(request, counter, reader)
        return replace(await OfflineSummarizer().summarize(request, counter, reader), sealed=sealed)

    async def _seal(self, request: SummaryRequest) -> SealedCompaction:
        data, tokens = "", 0
        archived = {message.id for message in request.messages}
        view = self._request.messages
        # An earlier compaction among them is the provider's own, and goes back to it.
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
