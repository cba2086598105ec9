"""Runs every process of Ullage that lives long, and has it work without a pause: does its memory grow?

A language server and a follower see twelve conversations grow, be compacted, replaced and deleted; the server also
makes, compacts, searches and deletes sessions of its own, the MCP server answers searches, and the proxy carries turns
of new sessions. The growth is that of a straight line through the second half of the samples, over eight hours: more
than what comes, if it slows down.
"""

import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import linear_regression
from typing import Any

from msgspec import Struct

from benches.follower import memory, turn, watch
from benches.proxy import Client
from benches.report import Report, at_most
from support import toy_agent
from support.log_trees import to_bytes
from support.lsp_client import PATIENCE, LspClient, RpcFailure, start_server
from support.mcp_client import HELLO, McpClient, server_environment
from support.program import OUR_CLIENT
from support.session_log import boundary, summary

# Minutes of a run, seconds between two samples, and the hours that the growth is told for.
MINUTES, _EVERY, HOURS = 20.0, 2.0, 8.0
# Megabytes by which a process may grow in eight hours. Each holds 60 to 200.
MOST = 150.0
# Open files by which it may grow from half of the time on.
MORE_FILES = 4
_CONVERSATIONS, _TURNS, _COMPACTED = 12, 60, 20
# Seconds between two steps of a kind of work: a busy user's, many times over.
_PAUSE = 0.05


# Of the sessions of a server's own.
MODEL = "gpt-4o"


class Sample(Struct, frozen=True):
    """A process's memory in megabytes and its open files, so many seconds after the start."""

    at: float
    memory: float
    files: int


def run(_: Sequence[Path], minutes: float = MINUTES) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        curves, done = asyncio.run(_soak(Path(folder), 60 * minutes))
    rows = [_row(name, samples, done) for name, samples in curves.items()]
    aims = [at_most(f"{row['process']}: growth in {HOURS:.0f} h, MB", row["growth_8h_mb"], MOST) for row in rows]
    aims += [
        at_most(f"{row['process']}: more open files", row["files"] - row["half_files"], MORE_FILES) for row in rows
    ]
    return Report(bench="soak", rows=rows, aims=aims)


def _row(name: str, samples: Sequence[Sample], done: dict[str, int]) -> dict[str, Any]:
    half = samples[len(samples) // 2 :]
    line = linear_regression([one.at for one in half], [one.memory for one in half])
    return {
        "process": name,
        "minutes": samples[-1].at / 60,
        "work": done[name],
        "start_mb": samples[0].memory,
        "half_mb": half[0].memory,
        "end_mb": half[-1].memory,
        "growth_8h_mb": line.slope * HOURS * 3_600,
        "half_files": half[0].files,
        "files": half[-1].files,
    }


async def _soak(home: Path, seconds: float) -> tuple[dict[str, list[Sample]], dict[str, int]]:
    folder = home / ".claude" / "projects" / "-home-user-live"
    folder.mkdir(parents=True)
    os.environ.update(HOME=str(home), CLAUDE_CONFIG_DIR=str(home / ".claude"), XDG_DATA_HOME=str(home / "data"))
    store, agent = home / "own.db", [sys.executable, toy_agent.__file__, '{"window": 100000, "compact": true}']
    # The programs themselves: what stands for a copy of a process in tests has no memory of a server's.
    program = str(Path(sys.executable).with_name("ullage"))
    proxied = [program, "acp", "--store", str(home / "proxy.db"), "--", *agent]
    proxy = Client(proxied)
    mcp = McpClient(
        await asyncio.create_subprocess_exec(
            *(program, "mcp", "--store", str(store)), stdin=-1, stdout=-1, env=server_environment(os.environ)
        )
    )
    try:
        with watch(home) as (follower, printed):
            async with start_server([program, "lsp", "--store", str(store)]) as server:
                await server.initialize(OUR_CLIENT)
                await server.request("ullage/following/start", {"folders": []})
                await mcp.ask("initialize", HELLO)
                processes = {
                    "server": server.process.pid,
                    "watch": follower.pid,
                    "mcp": mcp.process.pid,
                    "proxy": proxy.process.pid,
                }

                async def live(number: int) -> None:
                    await live_once(server, number)

                async def write(number: int) -> None:
                    _write(folder, number)
                    while not printed.empty():
                        printed.get()

                async def look_up(number: int) -> None:
                    await mcp.call("search", query=f"walnut {number % 50}", scope="all")

                async def talk(number: int) -> None:
                    await asyncio.to_thread(_talk, proxy, number)

                work = {"server": live, "watch": write, "mcp": look_up, "proxy": talk}
                return await measured(work, processes, seconds)
    finally:
        proxy.close()
        mcp.process.kill()
        await mcp.process.wait()


async def measured(
    work: Mapping[str, Callable[[int], Coroutine[Any, Any, None]]],
    processes: dict[str, int],
    seconds: float,
    every: float = _EVERY,
) -> tuple[dict[str, list[Sample]], dict[str, int]]:
    """Has each kind of work go on for so many seconds, with numbers from 0. Returns samples of each process, taken
    every so many seconds, and how often each kind of work was done."""
    began, done = time.monotonic(), dict.fromkeys(work, 0)
    is_over = asyncio.Event()
    curves: dict[str, list[Sample]] = {name: [] for name in processes}

    async def go_on(name: str) -> None:
        for number in itertools.takewhile(lambda _: not is_over.is_set(), itertools.count()):
            await work[name](number)
            done[name] = number + 1
            await asyncio.sleep(_PAUSE)

    working = [asyncio.ensure_future(go_on(name)) for name in work]
    try:
        while (gone := time.monotonic() - began) < seconds:
            for task in working:
                if task.done():
                    task.result()
            for name, process_id in processes.items():
                files = len([*Path(f"/proc/{process_id}/fd").iterdir()])
                curves[name].append(Sample(gone, memory(process_id, "VmRSS"), files))
            await asyncio.sleep(every)
    finally:
        is_over.set()
        await asyncio.wait(working, timeout=PATIENCE)
    return curves, done


async def live_once(client: LspClient, number: int) -> None:
    """Has a server go through the life of a session."""
    session_id = (await client.request("ullage/session/new", {"model": MODEL}))["sessionId"]
    for index in range(20):
        text = f"session {number} says {index} " + "walnut " * 200
        await _send(client, "session/append", session_id, messages=[{"role": "user", "content": text}])
    for method in ("context/compact", "context/undo", "context/messages", "session/close", "session/load"):
        with suppress(RpcFailure):
            await _send(client, method, session_id)
    await client.request("ullage/context/search", {"query": f"session {number}"})
    await _send(client, "session/delete" if number % 2 else "session/close", session_id)
    # The client keeps every update.
    client.notifications.clear()


async def _send(client: LspClient, method: str, session_id: str, **params: Any) -> Any:
    return await client.request(f"ullage/{method}", {"sessionId": session_id, **params})


def _write(folder: Path, number: int) -> None:
    """Lets one of the conversations grow by a turn, be compacted, or begin anew after its file was deleted."""
    which, at = number % _CONVERSATIONS, number // _CONVERSATIONS
    name, step = f"c{which}-{at // _TURNS}", at % _TURNS
    log = folder / f"{name}.jsonl"
    if step == 0 and at:
        with suppress(FileNotFoundError):
            (folder / f"c{which}-{at // _TURNS - 1}.jsonl").unlink()
    records = [*turn(2 * step, 100, name)]
    if step and step % _COMPACTED == 0:
        last, own = f"{name}u{2 * step - 1}", f"{name}b{step}"
        told = [boundary(own, last), summary(f"{name}s{step}", own, "All is well. " * 50, sessionId=name)]
        records = [*told, *records]
    with log.open("ab") as file:
        file.write(to_bytes(records))


def _talk(proxy: Client, number: int) -> None:
    """Sends a prompt. Every 20th turn is in a new session, and every 10th compacts."""
    if number % 20 == 0:
        proxy.session = proxy.new_session()
    text = "/compact" if number % 10 == 9 else f"Question {number}? " + "walnut " * 100
    proxy.ask("session/prompt", {"sessionId": proxy.session, "prompt": [{"type": "text", "text": text}]})
