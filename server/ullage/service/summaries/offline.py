"""The summarizer that needs no model."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from ullage.service.plan.plan import in_thread
from ullage.service.ports.models import SummaryStream
from ullage.summary.choosing.compose import Composition, compose
from ullage.summary.reading.reader import Reader
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class OfflineSummarizer:
    """Composes the summary in a thread, so that the event loop stays free, then yields it section by section."""

    @property
    def name(self) -> str:
        return "offline"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        composition = await compose_in_thread(request, counter, reader)
        return SummaryStream(ledger=composition.ledger, pieces=_hand_out(composition.pieces))


async def compose_in_thread(request: SummaryRequest, counter: TokenCounter, reader: Reader) -> Composition:
    """Runs `compose` in a thread. Cancelling the task ends the thread's work, too."""
    return await in_thread(lambda check: compose(request, counter, reader, check))


async def _hand_out(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        # Lets a cancellation that waits in the event loop take effect between two sections.
        await asyncio.sleep(0)
