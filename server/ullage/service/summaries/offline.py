"""The summariser that needs no model, behind the port that models share."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from ullage.service.plan.aside import aside
from ullage.service.ports.models import SummaryStream
from ullage.summary.choosing.composition import Composition, compose
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class OfflineSummarizer:
    """Composes in a thread, so that the event loop stays free, then hands the sections out one by one."""

    @property
    def name(self) -> str:
        return "offline"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        composition = await compose_aside(request, counter, reader)
        return SummaryStream(ledger=composition.ledger, pieces=_hand_out(composition.pieces))


async def compose_aside(request: SummaryRequest, counter: TokenCounter, reader: Reader) -> Composition:
    """`compose` in a thread, which ends with this."""
    return await aside(lambda check: compose(request, counter, reader, check))


async def _hand_out(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        # Lets a cancel that is waiting in the loop take effect between two sections.
        await asyncio.sleep(0)
