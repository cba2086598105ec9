"""The summariser that needs no model, behind the port that models share."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import CancelledError
from threading import Event

from ullage.service.ports import SummaryStream
from ullage.summary.compose import Composition, compose
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class OfflineSummarizer:
    """Composes in a thread, so that the event loop stays free, then hands the sections out one by one."""

    @property
    def name(self) -> str:
        return "offline"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter) -> SummaryStream:
        composition = await compose_aside(request, counter)
        return SummaryStream(ledger=composition.ledger, pieces=_hand_out(composition.pieces))


async def compose_aside(request: SummaryRequest, counter: TokenCounter) -> Composition:
    """`compose` in a thread that ends within milliseconds of a cancel: one that went on for nobody would take the
    processor from the event loop, and from the next compaction."""
    given_up = Event()

    def check() -> None:
        if given_up.is_set():
            raise CancelledError

    try:
        return await asyncio.to_thread(compose, request, counter, check)
    finally:
        given_up.set()


async def _hand_out(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        # Lets a cancel that is waiting in the loop take effect between two sections.
        await asyncio.sleep(0)
