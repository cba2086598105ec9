"""The loads. Each load has a server and a store of its own."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from benches.load_server import LoadedServer, latency_row, load_server, text_message
from benches.report import Aim, at_least, at_most, percentile
from ullage.app.compose import open_workspace
from ullage.edits.drop import Keep, TokenBudgetStrategy, plan_drop
from ullage.model.settings import ModelSettings, Settings
from ullage.tokens.counter import get_counter

MODEL = "bench-model"
LONG, RESULT_BYTES, RATE, SECONDS, SESSIONS = 100_000, 50_000_000, 1_000, 60, 50
# Users do not notice a tenth of a second. A request that waits for others may take that long.
PROMPT_MS = 100.0
TRUNCATE_MS = 50.0
# The memory added per byte of data. Decoded text, structs and counts come on top of the raw bytes.
MEMORY_RATIO = 6.0
# Tokens. A few dozen messages fill this window, so that each of the 50 sessions compacts several times.
SMALL_WINDOW = 12_000
_BATCH = 1_000


class Loaded(Struct, frozen=True, kw_only=True):
    """The rows and aims of one load."""

    rows: list[dict[str, Any]]
    aims: list[Aim]


Case = Callable[[Path, int, float], Awaitable[Loaded]]


async def long_session(store: Path, floor: int, share: float) -> Loaded:
    """Measures a session of 100,000 messages: every kind of request, and opening it again."""
    count = int(LONG * share)
    what = f"{count:,} messages"
    async with load_server(store) as server:
        session_id = await server.new_session(MODEL)
        for start in range(0, count, _BATCH):
            await server.append(session_id, *(text_message(start + i) for i in range(min(_BATCH, count - start))))
        held = (server.rss() - floor) / sum(len(str(text_message(n))) for n in range(count))
        server.latencies.clear()
        rows = [
            await _open(store, session_id, f"{what}, never compacted"),
            *await _use(server, session_id, count, what),
        ]
        server.latencies.clear()
        compacted = asyncio.create_task(server.ask("context/compact", sessionId=session_id))
        waits = await _poll(server, session_id, compacted)
        rows.append(latency_row(f"{what}: context/compact", server.latencies["context/compact"]))
        rows.append(latency_row(f"{what}: context/get while it compacts", waits))
    rows.append(await _open(store, session_id, f"{what}, compacted"))
    aims = [
        at_most(f"{row['what']}, p99 ms", row["p99 ms"], PROMPT_MS)
        for row in rows
        if not row["what"].endswith(("compact", "session/load", "first search"))
    ]
    aims.append(at_most(f"{what}: memory over an idle server, per byte of data", held, MEMORY_RATIO))
    return Loaded(rows=rows, aims=aims)


async def large_result(store: Path, floor: int, share: float) -> Loaded:
    """Measures a tool result of 50 MB in one request, while a client gets the context of another session."""
    size = int(RESULT_BYTES * share)
    lines = (f"{n:08} {n * 7919:x} GET /api/v1/items/{n % 4096} 200 {n % 977} ms\n" for n in itertools.count())
    text = "".join(itertools.islice(lines, size // 48))[:size]
    calls: list[dict[str, Any]] = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    result = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}]
    async with load_server(store) as server:
        other, session_id = await server.new_session(MODEL), await server.new_session(MODEL)
        await server.append(session_id, text_message(0), {"role": "assistant", "content": calls})
        appended = asyncio.create_task(server.append(session_id, {"role": "user", "content": result}))
        waits = await _poll(server, other, appended)
        peak = (server.peak_rss() - floor) / len(text)
        took = server.latencies["session/append"][-1]
    what = f"a result of {size / 1e6:,.0f} MB"
    return Loaded(
        rows=[latency_row(f"{what}: append", [took]), latency_row(f"{what}: context/get of another session", waits)],
        aims=[
            at_most(f"{what}: context/get of another session meanwhile, p99 ms", percentile(waits, 0.99), PROMPT_MS),
            at_most(f"{what}: peak memory over an idle server, per byte", peak, MEMORY_RATIO),
            at_most(f"{what}: tokens counted wrong", wrong_counts(store), 0),
        ],
    )


async def steady_rate(store: Path, floor: int, share: float) -> Loaded:
    """Measures 1,000 appends a second for a minute. Each is sent when it is due, even if earlier ones are not
    answered."""
    due = int(RATE * SECONDS * share)
    async with load_server(store) as server:
        session_id = await server.new_session(MODEL)
        server.latencies.clear()
        began = time.perf_counter()
        answers: list[asyncio.Task[Any]] = []
        for number in range(due):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            answers.append(asyncio.create_task(server.append(session_id, text_message(number, lines=1))))
        await asyncio.gather(*answers)
        rate = due / (time.perf_counter() - began)
        waits = server.latencies["session/append"]
        held = (server.rss() - floor) / sum(len(str(text_message(n, lines=1))) for n in range(due))
        page = await server.ask("context/messages", sessionId=session_id, scope="transcript", limit=1)
    what = f"{RATE:,} appends a second, {due:,} of them"
    return Loaded(
        rows=[latency_row(what, waits, f"{rate:,.0f} a second")],
        aims=[
            at_least(f"{what}: share of the rate", rate / RATE, 0.95),
            at_most(f"{what}: p99 ms", percentile(waits, 0.99), PROMPT_MS),
            at_most(f"{what}: messages lost", due - page["total"], 0),
            at_most(f"{what}: memory over an idle server, per byte of data", held, MEMORY_RATIO * 2),
            at_most(f"{what}: tokens counted wrong", wrong_counts(store), 0),
        ],
    )


async def many_sessions(store: Path, floor: int, share: float) -> Loaded:
    """Measures 50 sessions with a small window. Fifty clients append in turn, and each session compacts
    automatically."""
    count = max(2, int(SESSIONS * share))
    turns = 120
    async with load_server(store, {"models": {MODEL: {"window": SMALL_WINDOW}}}) as server:
        ids = [await server.new_session(MODEL) for _ in range(count)]
        server.latencies.clear()
        await asyncio.gather(*(_talk(server, session_id, turns, 8 + n % 5) for n, session_id in enumerate(ids)))
        waits = server.latencies["session/append"]
        contexts = [await server.ask("context/messages", sessionId=session_id) for session_id in ids]
        over = 0
        for session_id in ids:
            got = await server.ask("context/get", sessionId=session_id)
            over += got["used"] > SMALL_WINDOW
        held = (server.rss() - floor) / (count * turns * len(str(text_message(0))))
    compacted = sum(any(entry.get("inserted") for entry in page["entries"]) for page in contexts)
    what = f"{count} sessions at once"
    return Loaded(
        rows=[
            latency_row(f"{what}: append", waits),
            latency_row(f"{what}: context/get", server.latencies["context/get"]),
        ],
        aims=[
            at_most(f"{what}: append, p99 ms", percentile(waits, 0.99), PROMPT_MS * 2),
            at_least(f"{what}: share that compacted itself", compacted / count, 1),
            at_most(f"{what}: contexts over their window", over, 0),
            at_most(f"{what}: memory over an idle server, per byte of data", held, MEMORY_RATIO),
            at_most(f"{what}: tokens counted wrong", wrong_counts(store), 0),
        ],
    )


async def truncation(store: Path, _floor: int, _share: float) -> Loaded:
    """Measures the planning of a truncation to half of 100 messages that are counted already."""
    times: list[float] = []
    with open_workspace(store) as workspace:
        async with load_server(store) as server:
            session_id = await server.new_session(MODEL)
            await server.append(session_id, *(text_message(n, ("user", "assistant")[n % 2]) for n in range(100)))
        session = workspace.open(session_id)
        for _ in range(50):
            began = time.perf_counter()
            edit = plan_drop(
                session.projection.counted_view(),
                TokenBudgetStrategy(),
                session.used // 2,
                Keep(),
                workspace.new_stamp(),
            )
            times.append(1000 * (time.perf_counter() - began))
            assert edit is not None
    what = "truncating 100 messages"
    return Loaded(rows=[latency_row(what, times)], aims=[at_most(f"{what}, max ms", max(times), TRUNCATE_MS)])


CASES: dict[str, Case] = {
    "long": long_session,
    "large": large_result,
    "rate": steady_rate,
    "many": many_sessions,
    "truncation": truncation,
}


def note(text: str) -> dict[str, Any]:
    """Returns a row that holds only text."""
    return {"what": text, "runs": "", "p50 ms": "", "p99 ms": "", "max ms": ""}


def wrong_counts(store: Path) -> int:
    """Returns the tokens by which the sessions' figures differ from a new count of all messages of their contexts."""
    wrong = 0
    with open_workspace(store, Settings(models={MODEL: ModelSettings(window=SMALL_WINDOW)})) as workspace:
        for info in workspace.ports.store.list():
            session = workspace.open(info.session_id)
            counter = get_counter(session.model)
            wrong += abs(
                session.used - session.projection.tracker.scale(counter.count_messages(session.transcript.view))
            )
    return wrong


async def _use(server: LoadedServer, session_id: str, count: int, what: str) -> list[dict[str, Any]]:
    rng = random.Random(1)
    named = {"sessionId": session_id}
    for number in range(200):
        await server.append(session_id, text_message(count + number))
        await server.ask("context/get", **named)
    rows = [latency_row(f"{what}: {method}", waits) for method, waits in server.latencies.items()]
    for scope in ("transcript", "context"):
        server.latencies.clear()
        for _ in range(40):
            await server.ask("context/messages", **named, scope=scope, offset=rng.randrange(count), limit=50)
        rows.append(latency_row(f"{what}: a page of the {scope}", server.latencies["context/messages"]))
    server.latencies.clear()
    for number in range(21):
        await server.ask("context/search", **named, query=f"module_{number * 37} exports", limit=10)
    first, *others = server.latencies["context/search"]
    return [*rows, latency_row(f"{what}: first search", [first]), latency_row(f"{what}: context/search", others)]


async def _open(store: Path, session_id: str, what: str) -> dict[str, Any]:
    async with load_server(store) as server:
        await server.ask("session/load", sessionId=session_id)
        return latency_row(f"{what}: session/load", server.latencies["session/load"])


async def _poll(server: LoadedServer, session_id: str, until: "asyncio.Task[Any]") -> list[float]:
    """Returns the latencies of `context/get`, requested 50 times a second until the task `until` is done."""
    server.latencies.pop("context/get", None)
    while not until.done():
        await server.ask("context/get", sessionId=session_id)
        await asyncio.wait([until], timeout=0.02)
    await until
    return server.latencies["context/get"]


async def _talk(server: LoadedServer, session_id: str, turns: int, lines: int) -> None:
    """Plays one client that waits for each answer. `lines` differs between sessions, so that they do not fill up in
    step."""
    for number in range(turns):
        await server.append(session_id, text_message(number, ("user", "assistant")[number % 2], lines))
