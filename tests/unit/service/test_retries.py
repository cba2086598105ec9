"""A busy provider is asked again: after which waits, how often, and when its failure is reported instead."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from support.workspace import FixedClock, NoChance
from ullage.model.answer import Fragment, ModelRequest, TextDelta
from ullage.model.errors import ProviderUnavailable
from ullage.model.updates import Update
from ullage.providers.played import ScriptedProvider, parse_script
from ullage.service.asking import Waits, stream_with_retries

REQUEST = ModelRequest(model="some-model", messages=(), max_tokens=100)


async def asked(script: str) -> tuple[FixedClock, Sequence[Update], Sequence[Fragment], bool]:
    """The clock, the notices and the fragments after one request, and whether it failed."""
    clock, notices, fragments = FixedClock(), list[Update](), list[Fragment]()
    waits = Waits(clock=clock, chance=NoChance(), publish=notices.append)
    stream: AsyncGenerator[Fragment] = stream_with_retries(
        ScriptedProvider("scripted", parse_script(script)), REQUEST, waits
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
