"""Measures how long a user waits for the first word of an answer, and for the end of a cancelled turn.

The first word and the cancelled stream go through the process that editors start. The provider's server and the client
run in this process, so both use one clock. Tools and summaries that never end exist only in a workspace of this
process.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from benches.report import Aim, at_most, percentile
from support.lsp_client import LspClient
from support.program import language_server
from support.wire.clients import DIALECTS, settings_of
from support.wire.replay import MODELS
from support.wire.replies import Fault, Reply, Say, fail
from support.wire.server import WireServer, replies
from support.workspace import SMALL_MODEL, NoTools, PacedSummarizer, TestClient, build_test_client, play
from ullage.model.blocks import ToolUseBlock
from ullage.model.message import ToolDefinition
from ullage.model.settings import Settings, SummarySettings
from ullage.service.ports.models import ToolOutcome

_TIMES = 100
_FIRST_WORD, _CANCELLED = 0.005, 0.1
_PATIENCE = 20.0
_UPDATE = "ullage/session/update"


class Latency(Struct, frozen=True, kw_only=True):
    """The measured seconds of one case. `share` is the percentile for which the aim holds."""

    what: str
    seconds: list[float]
    share: float
    bound: float


def aim(found: Latency) -> Aim:
    """Returns the aim: milliseconds at the percentile, and their bound."""
    name = f"{found.what}, p{100 * found.share:.0f}, ms"
    return at_most(name, 1000 * percentile(found.seconds, found.share), 1000 * found.bound)


async def measure(folder: Path, share: float) -> list[Latency]:
    """Measures all cases. `share` is the share of the full number of repetitions."""
    times = max(1, int(_TIMES * share))
    found: list[Latency] = []
    for kind in DIALECTS:
        first = await _through_the_program(folder, kind, times, _first_word)
        found.append(Latency(what=f"first word by {kind}", seconds=first, share=0.5, bound=_FIRST_WORD))
        stopped = await _through_the_program(folder, kind, times, _cancel_stream)
        found.append(Latency(what=f"cancel of {kind} streaming", seconds=stopped, share=0.99, bound=_CANCELLED))
    for what, once in (("a tool", _cancel_tool), ("a summary", _cancel_summary)):
        seconds = [await once() for _ in range(times)]
        found.append(Latency(what=f"cancel during {what}", seconds=seconds, share=0.99, bound=_CANCELLED))
    return found


Once = Callable[[LspClient, WireServer, str], Awaitable[float]]


async def _through_the_program(folder: Path, kind: str, times: int, once: Once) -> list[float]:
    server = WireServer(DIALECTS[kind](), replies(Reply()))
    async with server.serving():
        providers = {kind: msgspec.to_builtins(settings_of(server, 60.0))}
        store = folder / f"{once.__name__}-{kind}.db"
        async with language_server(store, {"provider": kind, "providers": providers}) as client:
            # The first result is dropped: the first request imports the SDK, which is not measured here.
            return [await _anew(client, server, kind, once) for _ in range(times + 1)][1:]


async def _anew(client: LspClient, server: WireServer, kind: str, once: Once) -> float:
    session = await client.request("ullage/session/new", {"model": MODELS[kind]})
    client.notifications.clear()
    server.received.clear()
    server.streaming.clear()
    return await once(client, server, session["sessionId"])


async def _first_word(client: LspClient, server: WireServer, session_id: str) -> float:
    server.reply = replies(Reply(parts=(Say("Good morning to you."),), pace=0.02))
    answer = await _start_prompt(client, session_id)
    await client.wait_for(_UPDATE, _is_word)
    arrived = perf_counter()
    sent = server.asked[0].first_text
    assert sent is not None
    await asyncio.wait_for(answer, _PATIENCE)
    return arrived - sent


async def _cancel_stream(client: LspClient, server: WireServer, session_id: str) -> float:
    server.reply = replies(fail(Fault.STALL, after=6))
    answer = await _start_prompt(client, session_id)
    await client.wait_for(_UPDATE, _is_word)
    began = perf_counter()
    await client.notify("ullage/session/cancel", {"sessionId": session_id})
    result = await asyncio.wait_for(answer, _PATIENCE)
    assert result == {"stopReason": "cancelled"}, result
    return perf_counter() - began


async def _start_prompt(client: LspClient, session_id: str) -> "asyncio.Future[Any]":
    prompt = [{"type": "text", "text": "Hello"}]
    return await client.start("ullage/session/prompt", {"sessionId": session_id, "prompt": prompt})


def _is_word(params: Any) -> bool:
    return params["update"]["sessionUpdate"] == "agent_message_chunk"


class _Endless(NoTools):
    """A toolbox whose tool never returns."""

    def __init__(self) -> None:
        self.called = asyncio.Event()

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="wait", description="Waits."),)

    async def run(self, _session_id: str, _cwd: str, _use: ToolUseBlock, /) -> ToolOutcome:
        self.called.set()
        await asyncio.Event().wait()
        return ToolOutcome(text="")


async def _cancel_tool() -> float:
    toolbox = _Endless()
    client = build_test_client(live=play("tool: wait {}", toolbox))
    session = await client.call("session/new", model=SMALL_MODEL)
    return await _cancel(client, session["sessionId"], toolbox.called)


async def _cancel_summary() -> float:
    summarizer = PacedSummarizer(["never"])
    settings = Settings(summary=SummarySettings(writer="offline"))
    client = build_test_client(live=play("say: Never."), summarizer=summarizer, settings=settings)
    session = await client.call("session/new", model=SMALL_MODEL)
    session_id = session["sessionId"]
    # The context is nearly full. The prompt takes it over the threshold, so that the turn first waits for a summary.
    await client.say(session_id, *(f"word {number} " * 120 for number in range(12)))
    return await _cancel(client, session_id, summarizer.started)


async def _cancel(client: TestClient, session_id: str, until: asyncio.Event) -> float:
    prompt = [{"type": "text", "text": "word " * 1_500}]
    turn = asyncio.ensure_future(client.call("session/prompt", sessionId=session_id, prompt=prompt))
    await asyncio.wait_for(until.wait(), _PATIENCE)
    began = perf_counter()
    await client.call("session/cancel", sessionId=session_id)
    result = await asyncio.wait_for(turn, _PATIENCE)
    assert result == {"stopReason": "cancelled"}, result
    return perf_counter() - began
