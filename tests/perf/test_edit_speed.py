"""The time that it takes to read a context and to make room in it; `-s` prints the figures."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.workspace import TestClient, build_test_client
from ullage.edits.strategies.choices import TokenBudgetStrategy
from ullage.edits.strategies.situation import Keep
from ullage.edits.strategies.truncation import plan_drop
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import view_page
from ullage.store import open_store

pytestmark = pytest.mark.slow

_TEXT = "The quick brown fox jumps over the lazy dog, as it did before, and notes what it saw. " * 4
# Milliseconds: what a user perceives as immediate.
_TRUNCATION_MS = 50.0


async def session_of(client: TestClient, messages: int) -> Conversation:
    created = await client.call("session/new", model="unknown-model")
    for start in range(0, messages, 500):
        texts = [f"{number}: {_TEXT}" for number in range(start, min(start + 500, messages))]
        await client.say(created["sessionId"], *texts)
    return client.workspace.open(created["sessionId"])


def fastest_ms(call: Callable[[], object], runs: int = 9) -> float:
    times: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - began))
    return min(times)


async def test_truncating_a_hundred_messages_takes_less_than_fifty_milliseconds() -> None:
    client = build_test_client()
    session = await session_of(client, 100)
    stamp = client.workspace.new_stamp()
    took = fastest_ms(
        lambda: plan_drop(session.projection.counted_view(), TokenBudgetStrategy(), session.used // 2, Keep(), stamp)
    )
    print(f"truncate 100 messages, ms: {took:.3g}")  # noqa: T201  (figures for developers)
    assert took < _TRUNCATION_MS


async def test_a_page_of_a_long_context_costs_what_a_page_of_a_short_one_does(tmp_path: Path) -> None:
    times: dict[int, float] = {}
    for size in (100, 10_000):
        with closing(open_store(tmp_path / f"{size}.db")) as store:
            session = await session_of(build_test_client(store=store), size)
            samples: list[float] = []
            for _ in range(9):
                began = time.perf_counter()
                page = await view_page(session, 20, 50)
                samples.append(time.perf_counter() - began)
                assert len(page.entries) == 50
            times[size] = min(samples)
    assert times[10_000] <= 3 * times[100]
