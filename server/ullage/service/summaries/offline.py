"""The summarizer that needs no model."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing

from ullage.service.ports.models import SummaryStream
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.composition import Composition
    from ullage.summary.reader import Reader


class OfflineSummarizer:
    """Composes the summary by code alone, in a thread, so that the event loop stays free. `pieces` yields it section by
    section."""

    @property
    def name(self) -> str:
        return "offline"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> SummaryStream:
        composition = await compose_in_thread(request, counter, reader)
        return SummaryStream(ledger=composition.ledger, pieces=_hand_out(composition.pieces))


async def compose_in_thread(request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> "Composition":
    """Returns the offline summary and ledger for a request, composed in a thread. Cancelling the task ends the thread's
    work, too."""
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
