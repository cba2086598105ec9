"""The summarizer for a provider that compacts by itself and encrypts the result."""

from contextlib import aclosing

from msgspec.structs import replace

from ullage.model.answer import CompactionSealed, ModelRequest, UsageDelta
from ullage.model.blocks import SealedCompaction
from ullage.model.errors import AnswerBroken, InvalidRequest
from ullage.service.asking.retries import Waits, stream_with_retries
from ullage.service.ports.models import Provider, SummaryStream
from ullage.service.summaries.by_model import ModelSummarizer, Progress
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.reader import Reader


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
        """Requests the provider's compaction, then begins the offline summary, or `fallback`'s. Raises the provider's
        errors, except a refusal to compact."""
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
