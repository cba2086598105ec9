"""The official SDKs with servers that fail or mean harm: each fault becomes an error that says what to do, and nothing
grows without bound."""

import asyncio
import json
import logging
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from itertools import repeat

import pytest

from support.steps import python_steps
from support.wire.clients import DIALECTS, KEY, ask, collect, connected, served
from support.wire.dialect import frame
from support.wire.http import Exchange, serve
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
from ullage.model.json_values import as_object, as_text
from ullage.providers.failures import Refusal, retry_after, translate_refusal
from ullage.service.ports.models import Provider

_SSE = "text/event-stream"
# Bytes that an answer without end sends at most, so that a client that reads all of it ends, too.
_MOST = 512 << 20
# What parses as JSON but is no event of any protocol.
NONSENSE = (
    '{"type": "message_start", "message": null}',
    '{"type": "content_block_delta", "index": 0, "delta": null}',
    '{"type": "response.output_item.added", "output_index": 0, "item": null}',
    '{"type": "response.completed", "response": null}',
    '{"choices": null}',
    '{"choices": [{"delta": null}]}',
    '{"choices": [null]}',
    "[1, 2, 3]",
    "null",
    '"text"',
)
Pieces = Callable[[], Iterator[bytes]]


def endless_line() -> Iterator[bytes]:
    """Yields one line without end."""
    yield b"data: "
    yield from repeat(b"x" * (1 << 16), _MOST >> 16)


def endless_event() -> Iterator[bytes]:
    """Yields one event of short lines without end."""
    yield from repeat(b"data: x\n" * 8_192, _MOST >> 16)


def tiny_events() -> Iterator[bytes]:
    """Yields events without content, of five bytes each."""
    yield from repeat(b": x\n\n" * 13_107, _MOST >> 16)


def unpacked_to_much() -> Iterator[bytes]:
    """Yields 64 kB that unpack to 64 MB."""
    packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield from (packing.compress(b"x" * (1 << 24)) for _ in range(4))
    yield packing.flush()


ATTACKS: dict[str, tuple[str, Pieces]] = {
    "a line without end": ("", endless_line),
    "an event without end": ("", endless_event),
    "tiny events": ("", tiny_events),
    "gzip": ("gzip", unpacked_to_much),
    "an encoding that was not asked for": ("br", endless_line),
}


def one_event(data: str) -> Pieces:
    """Returns what sends this one event."""
    name = as_text(as_object(json.loads(data)).get("type"))
    return lambda: iter([f"event: {name}\ndata: {data}\n\n".encode() if name else f"data: {data}\n\n".encode()])


def many(data: str, count: int) -> Pieces:
    """Returns what sends this event so many times, in one piece."""
    (piece,) = one_event(data)()
    return lambda: iter([piece * count])


def error_with_key() -> Iterator[bytes]:
    """Yields an error in the middle of the answer that repeats the client's key."""
    error = {"type": "invalid_request_error", "code": "bad", "message": f"oops Bearer {KEY}"}
    yield frame("error", {"type": "error", "error": error, "code": "bad", "message": error["message"]})


@asynccontextmanager
async def attacked(kind: str, pieces: Pieces, encoding: str = "") -> AsyncGenerator[Provider]:
    """Opens the provider `kind` on a server that answers each request with these pieces of a body."""

    async def answer(exchange: Exchange) -> None:
        packed = f"content-encoding: {encoding}\r\n" if encoding else ""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {_SSE}\r\n{packed}transfer-encoding: chunked\r\n\r\n"
        await exchange.send(head.encode())
        # An empty chunk would end the answer.
        for piece in filter(None, pieces()):
            await exchange.chunk(piece)
        await exchange.chunk(b"")

    known = WireServer(DIALECTS[kind](), replies(say("Never.")))
    async with serve(answer) as known.port, connected(known, timeout=60.0) as provider:
        yield provider


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


@pytest.mark.parametrize("kind", DIALECTS)
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


@pytest.mark.parametrize("kind", DIALECTS)
def test_every_fault_has_its_error(kind: str) -> None:
    assert EXPECTED.keys() | QUIET == set(Fault)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_refused_connection_names_the_address(kind: str) -> None:
    server = WireServer(DIALECTS[kind](), replies(say("Never.")))
    async with server.serving():
        pass
    async with connected(server) as provider:
        with pytest.raises(ProviderUnavailable, match=f"127.0.0.1:{server.port}"):
            await asyncio.wait_for(collect(provider), PATIENCE)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_the_wait_that_the_provider_asks_for_is_kept(kind: str) -> None:
    async with served(kind, fail(Fault.RATE_LIMITED)) as (_, provider):
        with pytest.raises(RateLimited) as raised:
            await collect(provider)
    assert raised.value.retry_after == 0.0


@pytest.mark.parametrize("kind", DIALECTS)
async def test_an_answer_that_comes_byte_by_byte_is_whole(kind: str) -> None:
    reply = Reply(parts=(Say("Grüße 🍺"),), fault=Fault.SLOW)
    async with served(kind, reply) as (_, provider):
        fragments = await asyncio.wait_for(collect(provider), PATIENCE)
    assert "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta)) == "Grüße 🍺"


@pytest.mark.parametrize("kind", DIALECTS)
async def test_an_answer_that_ends_without_a_reason_is_not_finished(kind: str) -> None:
    async with served(kind, fail(Fault.CUT_OFF, after=4)) as (_, provider):
        fragments = await collect(provider)
    assert not any(isinstance(fragment, Finished) for fragment in fragments)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_what_came_before_a_reset_is_not_lost(kind: str) -> None:
    heard: list[str] = []
    async with served(kind, fail(Fault.RESET, after=8)) as (_, provider):
        with pytest.raises(ProviderUnavailable):
            async with aclosing(provider.stream(ask())) as fragments:
                async for fragment in fragments:
                    heard += [fragment.text] if isinstance(fragment, TextDelta) else []
    assert "".join(heard).startswith("Half an")


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_prompt_over_the_window_differs_from_other_refusals(kind: str) -> None:
    async with served(kind, say("Never."), window=500) as (server, provider):
        with pytest.raises(ContextTooLong):
            await collect(provider, ask("word " * 600))
    assert server.asked[0].over_window


@pytest.mark.parametrize("kind", DIALECTS)
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


@pytest.mark.parametrize("kind", DIALECTS)
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


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "invalid_request_error", "max_tokens: required", RequestRefused),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextTooLong),
        (400, "", "input length and `max_tokens` exceed context limit: 8 + 2 > 9", ContextTooLong),
        (400, "exceed_context_size_error", "the request exceeds the available context size", ContextTooLong),
        (402, "billing_error", "no credit", RequestRefused),
        (404, "not_found_error", "model: nobody", RequestRefused),
        (408, "", "timed out", ProviderUnavailable),
        (409, "", "another request holds the lock", ProviderUnavailable),
        (429, "insufficient_quota", "no credit", RequestRefused),
        (503, "", "down", ProviderUnavailable),
        (0, "rate_limit_exceeded", "slower", RateLimited),
        (0, "server_error", "sorry", ProviderUnavailable),
        (200, "overloaded_error", "Overloaded", ProviderUnavailable),
        (403, "", "no", AuthenticationFailed),
    ],
)
def test_a_refusal_becomes_the_error_that_says_what_to_do(
    status: int, kind: str, message: str, expected: type[ProviderError]
) -> None:
    error = translate_refusal("anthropic", Refusal(status=status, kind=kind, message=message))
    assert type(error) is expected
    assert message in str(error)


def test_an_error_in_the_middle_of_a_stream_is_not_called_a_success() -> None:
    error = translate_refusal("anthropic", Refusal(status=200, kind="overloaded_error", message="Overloaded"))
    assert str(error) == "anthropic answered with an error: Overloaded"


def test_a_key_that_the_server_repeats_is_left_out() -> None:
    refusal = Refusal(status=401, message="Incorrect key sk-12345678", key="sk-12345678")
    assert "sk-12345678" not in str(translate_refusal("openai", refusal))
    assert "[key]" in str(translate_refusal("openai", refusal))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_either_header(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


# Seconds. The longest attack takes a few; unbounded, it would take minutes.
HOSTILE_PATIENCE = 120.0


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_answer_that_never_ends_is_cut_off(kind: str, attack: str) -> None:
    encoding, pieces = ATTACKS[attack]
    async with attacked(kind, pieces, encoding) as provider:
        with pytest.raises(AnswerBroken, match=r"does not end|not asked for"):
            await asyncio.wait_for(collect(provider), HOSTILE_PATIENCE)


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("data", NONSENSE)
async def test_json_of_another_shape_is_an_answer_that_cannot_be_read(kind: str, data: str) -> None:
    async with attacked(kind, one_event(data)) as provider:
        try:
            fragments = await asyncio.wait_for(collect(provider), HOSTILE_PATIENCE)
        except AnswerBroken as error:
            assert str(error).startswith(kind)
        else:
            # An event that this protocol does not know is passed over.
            assert fragments == []


@pytest.mark.parametrize("kind", DIALECTS)
async def test_an_error_in_the_middle_of_an_answer_does_not_show_the_key(kind: str) -> None:
    async with attacked(kind, error_with_key) as provider:
        with pytest.raises(ProviderError, match="oops") as raised:
            await asyncio.wait_for(collect(provider), HOSTILE_PATIENCE)
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("data", ["{}", '{"type": "ping"}'])
async def test_an_event_that_is_not_known_costs_little(kind: str, data: str) -> None:
    with python_steps() as steps:
        async with attacked(kind, many(data, 1_000)) as provider:
            try:
                assert await asyncio.wait_for(collect(provider), HOSTILE_PATIENCE) == []
            except AnswerBroken as error:
                # Chat has events of one kind only.
                assert kind == "openai_chat", error
    # An event that is tried as each type that the SDK has takes four times as many.
    assert steps.taken < 5_000_000


@pytest.mark.parametrize("kind", DIALECTS)
async def test_no_other_key_of_the_environment_is_sent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "never-to-be-sent")
    async with served(kind, say("Hello.")) as (server, provider):
        await asyncio.wait_for(collect(provider), HOSTILE_PATIENCE)
    assert server.received
    assert "never-to-be-sent" not in repr([one.headers for one in server.received])
