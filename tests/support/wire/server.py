"""A provider on the loopback: it gives the prepared replies, checks and counts each request, and refuses those too
long."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from support.wire.account import Account, count_items, count_text, shared_tokens
from support.wire.dialect import Dialect, frame
from support.wire.http import Exchange, Json, serve
from support.wire.replies import REFUSALS, Call, Fault, Part, Redacted, Refusal, Reply
from support.wire.responses_wire import CompactingResponsesWire

# Seconds that a stalled answer is held. Any test has failed before.
_FOREVER = 600.0
_MALFORMED = b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\xff\n\n'


class Received(Struct, kw_only=True):
    """A received request, its faults, and the outcome."""

    path: str
    body: Json
    headers: Mapping[str, str] = {}
    tokens: int = 0
    violations: list[str] = []
    over_window: bool = False
    fault: Fault | None = None
    # `time.perf_counter` when the first text was sent, and when the client was seen to hang up.
    first_text: float | None = None
    hung_up: float | None = None


Replier = Callable[[Received], Reply]


class WireServer:
    """A server. `reply` gives the answers, and `window` is the longest prompt in tokens. All received requests are
    kept."""

    def __init__(self, dialect: Dialect, reply: Replier, *, window: int | None = None) -> None:
        self.dialect = dialect
        self.reply = reply
        self.window = window
        self.received: list[Received] = []
        self.streaming = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.port = 0
        self._before: Sequence[Any] = ()

    @property
    def base_url(self) -> str:
        """The base URL for the client."""
        return f"http://127.0.0.1:{self.port}{self.dialect.base}"

    @property
    def asked(self) -> list[Received]:
        """The requests for answers."""
        return [received for received in self.received if received.path == self.dialect.path]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["WireServer"]:
        """Serves while the block runs. The port stays the same when it serves again."""
        async with serve(self._handle, self.port) as self.port:
            yield self

    async def _handle(self, exchange: Exchange) -> None:
        received = Received(path=exchange.path.partition("?")[0], body=exchange.body, headers=exchange.headers)
        self.received.append(received)
        try:
            if exchange.method == "GET":
                await exchange.answer(200, self.dialect.models(received.path, received.path.rpartition("/")[2]))
            elif received.path == self.dialect.count_path:
                await exchange.answer(200, self.dialect.counted(self._count(exchange.body)))
            elif isinstance(self.dialect, CompactingResponsesWire) and received.path == self.dialect.compact_path:
                await exchange.answer(*self.dialect.compact(exchange.body, self._count(exchange.body)))
            elif received.path == self.dialect.path:
                await self._answer(exchange, received)
            else:
                await exchange.answer(404, self.dialect.error(_NOT_FOUND))
        except (asyncio.CancelledError, ConnectionError) as error:
            # Whichever comes first: the end of the connection cancels this, or a write to it fails.
            if exchange.hung_up.is_set() or isinstance(error, ConnectionError):
                received.hung_up = perf_counter()
                self.hung_up.set()
            raise

    async def _answer(self, exchange: Exchange, received: Received) -> None:
        received.tokens = self._count(exchange.body)
        received.violations = self.dialect.violations(exchange.body)
        # The answer must fit, too (Anthropic, "Context windows"; vLLM's refusals).
        whole = received.tokens + self.dialect.max_tokens(exchange.body)
        received.over_window = self.window is not None and whole > self.window
        if received.violations:
            text = "; ".join(received.violations)
            wrong = Refusal(status=400, anthropic="invalid_request_error", openai="invalid_request_error", message=text)
            await exchange.answer(400, self.dialect.error(wrong))
        elif self.window is not None and received.over_window:
            refusal = self.dialect.too_long(received.tokens, self.window)
            await exchange.answer(400, self.dialect.error(refusal))
        else:
            reply = self.reply(received)
            received.fault = reply.fault
            await self._reply(exchange, received, reply, self._account(received, reply))

    def _count(self, body: Json) -> int:
        return self._scaled(count_items(self.dialect.items(body)))

    def _scaled(self, tokens: int) -> int:
        return round(tokens * self.dialect.tokens_share)

    def _account(self, received: Received, reply: Reply) -> Account:
        items, prompt = self.dialect.items(received.body), received.tokens
        # At least one token of a prompt is never cached.
        cached = min(self._scaled(shared_tokens(items, self._before)), prompt - 1)
        self._before = items
        output = self._scaled(sum(count_text(_text_of(part)) for part in reply.parts)) + reply.reasoning_tokens
        return Account(prompt=prompt, cached=cached, output=max(1, output), reasoning=reply.reasoning_tokens)

    async def _reply(self, exchange: Exchange, received: Received, reply: Reply, account: Account) -> None:
        match reply.fault:
            case Fault.HUNG_UP:
                exchange.reset()
            case Fault.NO_HEAD:
                await asyncio.sleep(_FOREVER)
            case Fault.NOT_JSON:
                page = "<html><body>502 Bad Gateway</body></html>"
                await exchange.answer(502, page, {"content-type": "text/html"})
            case Fault() as fault if fault in REFUSALS:
                refusal = REFUSALS[fault]
                if fault is Fault.UNAUTHORIZED:
                    # Careless servers put the key into their messages.
                    refusal = replace(refusal, message=f"{refusal.message}: {_key_of(exchange)}")
                await exchange.answer(refusal.status, self.dialect.error(refusal), refusal.headers)
            case _:
                await self._stream(exchange, received, reply, account)

    async def _stream(self, exchange: Exchange, received: Received, reply: Reply, account: Account) -> None:
        if reply.fault is Fault.EMPTY:
            reply = Reply(parts=())
        await exchange.begin()
        for number, (name, data) in enumerate(self.dialect.events(received.body["model"], reply, account)):
            if number == reply.after and reply.fault is not None and await self._break(exchange, reply.fault):
                return
            await asyncio.sleep(reply.pace)
            event = frame(name, data)
            if received.first_text is None and self.dialect.text_mark in event:
                received.first_text = perf_counter()
            await self._send(exchange, event, slowly=reply.fault is Fault.SLOW)
            self.streaming.set()
        if self.dialect.name == "openai_chat":
            await exchange.chunk(b"data: [DONE]\n\n")
        await exchange.chunk(b"")

    async def _send(self, exchange: Exchange, data: bytes, *, slowly: bool) -> None:
        for piece in [data[at : at + 1] for at in range(len(data))] if slowly else [data]:
            await exchange.chunk(piece)

    async def _break(self, exchange: Exchange, fault: Fault) -> bool:
        """Makes the fault happen here, and returns whether the answer is over."""
        match fault:
            case Fault.RESET:
                exchange.reset()
            case Fault.CUT_OFF:
                await exchange.chunk(b"")
            case Fault.STALL:
                await asyncio.sleep(_FOREVER)
            case Fault.MALFORMED:
                await exchange.chunk(_MALFORMED)
                await exchange.chunk(b"")
            case Fault.ERROR_EVENT:
                await exchange.chunk(frame(*self.dialect.error_event(REFUSALS[Fault.OVERLOADED])))
                await exchange.chunk(b"")
            case _:
                return False
        return True


_NOT_FOUND = Refusal(status=404, anthropic="not_found_error", openai="invalid_request_error", message="Not found")


def replies(*given: Reply) -> Replier:
    """Gives replies one after another, and the last one again and again."""
    left = list(given)

    def reply(_received: Received) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return reply


def _key_of(exchange: Exchange) -> str:
    return exchange.headers.get("x-api-key") or exchange.headers.get("authorization", "").removeprefix("Bearer ")


def _text_of(part: Part) -> str:
    match part:
        case Call():
            return f"{part.name} {part.arguments}"
        case Redacted():
            return ""
        case _:
            return part.text
