"""The offline summarizer in its thread, and what happens to it when no task waits for it any more."""

import asyncio
from threading import Event

import pytest

from support.conversations import agent, places, user
from support.counting import LengthCounter
from support.workspace import PATIENCE
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest

MESSAGES = tuple(
    message
    for number in range(40)
    for message in (user(f"Look at unit_{number}."), agent(f"I found that `unit_{number}` fails."))
)
REQUEST = SummaryRequest(messages=MESSAGES, indices=places(MESSAGES), max_tokens=900)


class PacedCounter(LengthCounter):
    """Signals its first call, and answers once the test allows it."""

    def __init__(self) -> None:
        self.asked, self.let = Event(), Event()
        self.answers = 0

    def count(self, text: str) -> int:
        self.asked.set()
        assert self.let.wait(PATIENCE)
        self.answers += 1
        return super().count(text)


async def answers_of(counter: PacedCounter, *, cancelled: bool) -> int:
    """Returns how often one summary's thread counts before it ends."""
    summary = asyncio.create_task(OfflineSummarizer().summarize(REQUEST, counter, Reader()))
    assert await asyncio.to_thread(counter.asked.wait, PATIENCE)
    if cancelled:
        summary.cancel()
        with pytest.raises(asyncio.CancelledError):
            await summary
    counter.let.set()
    await asyncio.gather(summary, return_exceptions=True)
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), PATIENCE)
    return counter.answers


async def test_a_cancelled_summary_stops_reading_and_counting() -> None:
    stopped = await answers_of(PacedCounter(), cancelled=True)
    assert stopped <= 10


async def test_a_summary_that_is_waited_for_counts_on_to_its_end() -> None:
    assert await answers_of(PacedCounter(), cancelled=False) > 40
