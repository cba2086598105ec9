"""The summarizer that needs no model."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from ullage.service.ports.models import SummaryStream
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.choosing.composition import Composition
    from ullage.summary.reading.text_reader import Reader


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
    # Imported on use: their import takes 50 ms, and commands that write no summary are to start soon.
    from ullage.service.plan.plan import in_thread  # noqa: PLC0415
    from ullage.summary.choosing.composition import compose  # noqa: PLC0415

    return await in_thread(lambda check: compose(request, counter, reader, check))


async def _hand_out(pieces: Iterable[str]) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        # Lets a cancellation that waits in the event loop take effect between two sections.
        await asyncio.sleep(0)
