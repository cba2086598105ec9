"""A caller's own function as the summarizer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from msgspec import Struct

from ullage.formats.provider import Provider, write_request
from ullage.model.errors import ProviderError
from ullage.service.ports.models import SummaryStream
from ullage.service.summaries.offline import compose_in_thread
from ullage.summary.reading.reader import Reader
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class SummaryTask(Struct, frozen=True, kw_only=True):
    """A summary to write: a `request` with the provider's fields (messages, system prompt), to be summarized in at
    most `max_tokens` tokens. `previous` is the summary that this one replaces, `focus` names what it must keep; both
    may be empty."""

    request: dict[str, Any]
    max_tokens: int
    previous: str = ""
    focus: str = ""


Summarize = Callable[[SummaryTask], str]


class CallableSummarizer:
    """Calls the function in a thread of its own. Code still collects files, commands and names for the ledger."""

    def __init__(self, summarize: Summarize, provider: Provider) -> None:
        self._summarize = summarize
        self._provider = provider

    @property
    def name(self) -> str:
        return "custom"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        composition = await compose_in_thread(request, counter, reader)
        task = SummaryTask(
            request=write_request(self._provider, request.messages),
            max_tokens=request.max_tokens,
            previous=request.previous.summary if request.previous else "",
            focus=request.focus,
        )
        return SummaryStream(ledger=composition.ledger, pieces=self._write(task))

    async def _write(self, task: SummaryTask) -> AsyncIterator[str]:
        try:
            yield await asyncio.to_thread(self._summarize, task)
        except Exception as error:
            raise ProviderError(f"the summarizer failed: {error}") from error
