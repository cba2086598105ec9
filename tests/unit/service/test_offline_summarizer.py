"""The offline summarizer in its thread, and what happens to it when no task waits for it any more."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from threading import Event

import pytest

from support.conversations import agent, places, user
from support.counting import LengthCounter
from support.workspace import PATIENCE, FixedClock, NoChance
from ullage.model.answer import Fragment, ModelRequest, TextDelta
from ullage.model.errors import ProviderUnavailable
from ullage.model.updates import Update
from ullage.providers.played import ScriptedProvider, parse_script
from ullage.service.asking import Waits, stream_with_retries
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
        super().__init__()
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


# A busy provider is asked again: after which waits, how often, and when its failure is reported instead


ASKED = ModelRequest(model="some-model", messages=(), max_tokens=100)


async def asked(script: str) -> tuple[FixedClock, Sequence[Update], Sequence[Fragment], bool]:
    """The clock, the notices and the fragments after one request, and whether it failed."""
    clock, notices, fragments = FixedClock(), list[Update](), list[Fragment]()
    waits = Waits(clock=clock, chance=NoChance(), publish=notices.append)
    stream: AsyncGenerator[Fragment] = stream_with_retries(
        ScriptedProvider("scripted", parse_script(script)), ASKED, waits
    )
    try:
        async for fragment in stream:
            fragments.append(fragment)
    except ProviderUnavailable:
        return clock, notices, fragments, True
    return clock, notices, fragments, False


def texts(fragments: Sequence[Fragment]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta))


async def test_each_wait_is_twice_as_long_as_the_one_before_and_a_little_longer_by_chance() -> None:
    clock, notices, fragments, failed = await asked("fail: unavailable\n---\n" * 4 + "say: There.")
    assert clock.waited == pytest.approx([0.5625, 1.125, 2.25, 4.5])
    assert len(notices) == 4
    assert texts(fragments) == "There."
    assert not failed


async def test_a_provider_that_says_how_long_is_taken_at_its_word() -> None:
    clock, _, fragments, _ = await asked("fail: rate_limited 7\n---\nsay: There.")
    assert clock.waited == [7.0]
    assert texts(fragments) == "There."


async def test_after_five_tries_the_failure_is_reported() -> None:
    clock, notices, _, failed = await asked("fail: unavailable\n---\n" * 5 + "say: Never.")
    assert (len(clock.waited), len(notices), failed) == (4, 4, True)


async def test_nobody_waits_longer_than_a_minute() -> None:
    clock, notices, _, failed = await asked("fail: rate_limited 61\n---\nsay: Never.")
    assert (clock.waited, notices, failed) == ([], [], True)


async def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    clock, _, fragments, failed = await asked("say: Half of\nfail: unavailable\n---\nsay: Never.")
    assert (clock.waited, failed) == ([], True)
    assert texts(fragments) == "Half of"
