"""The official SDKs with servers that fail: each fault becomes an error that says what to do."""

import asyncio
import logging
from contextlib import aclosing

import pytest

from support.wire.clients import DIALECTS, KEY, ask, collect, connected, served
from support.wire.replies import Fault, Reply, Say, fail, say
from support.wire.server import WireServer, replies
from ullage.model.answer import Finished, TextDelta
from ullage.model.errors import (
    AnswerBroken,
    AuthenticationFailed,
    ContextTooLong,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)

pytestmark = pytest.mark.parametrize("kind", DIALECTS)
PATIENCE = 60.0
# The faults that the provider finds by waiting.
WAITED_FOR = {Fault.NO_HEAD, Fault.STALL}
EXPECTED: dict[Fault, type[ProviderError]] = {
    Fault.HUNG_UP: ProviderUnavailable,
    Fault.NO_HEAD: ProviderUnavailable,
    Fault.ORPHANED_RESULT: RequestRefused,
    Fault.TOO_LONG: ContextTooLong,
    Fault.UNAUTHORIZED: AuthenticationFailed,
    Fault.FORBIDDEN: AuthenticationFailed,
    Fault.TOO_LARGE: ContextTooLong,
    Fault.RATE_LIMITED: RateLimited,
    Fault.NO_CREDIT: RequestRefused,
    Fault.SERVER_ERROR: ProviderUnavailable,
    Fault.OVERLOADED: ProviderUnavailable,
    Fault.NOT_JSON: ProviderUnavailable,
    Fault.RESET: ProviderUnavailable,
    Fault.STALL: ProviderUnavailable,
    Fault.MALFORMED: AnswerBroken,
    Fault.ERROR_EVENT: ProviderUnavailable,
}
# These raise nothing: the answer is slow, empty, or ends without a reason, which its reader handles.
QUIET = {Fault.SLOW, Fault.CUT_OFF, Fault.EMPTY}


@pytest.mark.parametrize("fault", Fault)
async def test_each_fault_is_one_of_our_errors_and_never_shows_the_key(
    kind: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with served(kind, fail(fault), timeout=0.3 if fault in WAITED_FOR else PATIENCE) as (_, provider):
        if fault in QUIET:
            await asyncio.wait_for(collect(provider), PATIENCE)
            return
        with pytest.raises(ProviderError) as raised:
            await asyncio.wait_for(collect(provider), PATIENCE)
    assert type(raised.value) is EXPECTED[fault]
    assert "\n" not in str(raised.value)
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r} {provider!r} {caplog.text}"
    assert "Building HTTP request" in caplog.text or "test-model" in caplog.text


def test_every_fault_has_its_error(kind: str) -> None:
    assert EXPECTED.keys() | QUIET == set(Fault)


async def test_a_refused_connection_names_the_address(kind: str) -> None:
    server = WireServer(DIALECTS[kind](), replies(say("Never.")))
    async with server.serving():
        pass
    async with connected(server) as provider:
        with pytest.raises(ProviderUnavailable, match=f"127.0.0.1:{server.port}"):
            await asyncio.wait_for(collect(provider), PATIENCE)


async def test_the_wait_that_the_provider_asks_for_is_kept(kind: str) -> None:
    async with served(kind, fail(Fault.RATE_LIMITED)) as (_, provider):
        with pytest.raises(RateLimited) as raised:
            await collect(provider)
    assert raised.value.retry_after == 0.0


async def test_an_answer_that_comes_byte_by_byte_is_whole(kind: str) -> None:
    reply = Reply(parts=(Say("Grüße 🍺"),), fault=Fault.SLOW)
    async with served(kind, reply) as (_, provider):
        fragments = await asyncio.wait_for(collect(provider), PATIENCE)
    assert "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta)) == "Grüße 🍺"


async def test_an_answer_that_ends_without_a_reason_is_not_finished(kind: str) -> None:
    async with served(kind, fail(Fault.CUT_OFF, after=4)) as (_, provider):
        fragments = await collect(provider)
    assert not any(isinstance(fragment, Finished) for fragment in fragments)


async def test_what_came_before_a_reset_is_not_lost(kind: str) -> None:
    heard: list[str] = []
    async with served(kind, fail(Fault.RESET, after=8)) as (_, provider):
        with pytest.raises(ProviderUnavailable):
            async with aclosing(provider.stream(ask())) as fragments:
                async for fragment in fragments:
                    heard += [fragment.text] if isinstance(fragment, TextDelta) else []
    assert "".join(heard).startswith("Half an")


async def test_a_prompt_over_the_window_differs_from_other_refusals(kind: str) -> None:
    async with served(kind, say("Never."), window=500) as (server, provider):
        with pytest.raises(ContextTooLong):
            await collect(provider, ask("word " * 600))
    assert server.asked[0].over_window


@pytest.mark.parametrize("when", ["before the head", "while it writes"])
async def test_cancelling_hangs_up_at_once(kind: str, when: str) -> None:
    reply = fail(Fault.NO_HEAD) if when == "before the head" else fail(Fault.STALL, after=5)
    # The provider itself would wait far longer.
    async with served(kind, reply, timeout=10 * PATIENCE) as (server, provider):
        reading = asyncio.create_task(collect(provider))
        if when == "while it writes":
            await asyncio.wait_for(server.streaming.wait(), PATIENCE)
        else:
            await asyncio.wait_for(until_asked(server), PATIENCE)
        reading.cancel()
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_closing_the_stream_early_hangs_up(kind: str) -> None:
    async with served(kind, Reply(parts=(Say("word " * 400),), pace=0.01), timeout=10 * PATIENCE) as (server, provider):
        async with aclosing(provider.stream(ask())) as fragments:
            async for fragment in fragments:
                if isinstance(fragment, TextDelta):
                    break
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE)


async def until_asked(server: WireServer) -> None:
    while not server.asked:
        await asyncio.sleep(0)
