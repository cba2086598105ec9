"""Compares Ullage with other programs that do the same work, on the same data in the same run.

Each program is used as its own documents say. What is not installed is left out: ccusage 18 is fetched by npm, the
others belong to the `bench` dependency group.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from benches.follower import PATIENCE, environment, watch
from benches.report import TRANSCRIPTS, Aim, Report, Row, at_most, median, seconds
from support.logs import message, records
from support.postgres_server import programs, running_server
from ullage.model.events import SessionCreated
from ullage.store.postgres.postgres_store import open_postgres

# Messages of the session to which one more is added, and the runs of which the median counts.
_SIZE, _RUNS = 10_000, 20
# Bytes from which on a recorded conversation is followed.
_LARGE = 1_000_000
_TEXT = "The quick brown fox jumps over the lazy dog. " * 20

# What Claude Code gives a status line, and ccusage refuses to do without.
_STATUS: dict[str, Any] = {
    "cwd": "/home/user",
    "workspace": {"current_dir": "/home/user", "project_dir": "/home/user"},
    "model": {"id": "claude-opus-4-5", "display_name": "Opus"},
    "version": "2.1.0",
    "cost": {"total_cost_usd": 1.0, "total_duration_ms": 1, "total_api_duration_ms": 1},
}

# Each step is one run; what comes before the first `yield` is not timed.
Work = Generator[None]


def run(_: Sequence[Path]) -> Report:
    """Returns one table: each row has the work, the program, its cost and how many times ours that is."""
    rows = [*_one_more_row(), *_first_figures()]
    aims: list[Aim] = [
        at_most(f"{row['work']}: ours, of {row['program']}'s cost", 1 / row["times ours"], 1)
        for row in rows
        if row["program"] != "Ullage"
    ]
    return Report(bench="rivals", rows=rows, aims=aims)


def _table(work: str, ours: float, others: dict[str, float]) -> list[Row]:
    costs = {"Ullage": ours, **others}
    return [
        {"work": work, "program": name, "ms": 1000 * cost, "times ours": cost / ours} for name, cost in costs.items()
    ]


def _median(work: Work) -> float:
    next(work)
    taken = median(seconds(lambda: next(work)) for _ in range(_RUNS))
    work.close()
    return taken


def _one_more_row() -> list[Row]:
    """Returns the cost of an append to a long session in PostgreSQL."""
    if sys.platform == "win32" or programs() is None:
        return []
    rivals: dict[str, Callable[[str], Work]] = {"langgraph": _langgraph, "agents": _openai_agents}
    with running_server("fsync=on") as server:
        others: dict[str, float] = {}
        for name, rival in rivals.items():
            if find_spec(name):
                with psycopg.connect(server.address(), autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE rival_{name}".encode())
                address = server.address().replace("/postgres?", f"/rival_{name}?").partition("&options")[0]
                others[name] = _median(rival(address))
        ours = _median(_postgres(server.new_schema()))
    return _table(f"append to {_SIZE:,} messages in PostgreSQL", ours, others)


def _postgres(address: str) -> Work:
    with open_postgres(address) as store:
        first = (message(f"m{number}", _TEXT) for number in range(_SIZE))
        store.create("s", records(SessionCreated(), *first))
        for number in range(_SIZE):
            yield
            store.append("s", records(message(f"n{number}", _TEXT), start=_SIZE + 1 + number))


def _langgraph(address: str) -> Work:
    """Runs `PostgresSaver.put` as a graph with the state `messages` does after each step: a checkpoint whose version
    of `messages` is new."""
    postgres, base = import_module("langgraph.checkpoint.postgres"), import_module("langgraph.checkpoint.base")
    messages = [{"role": "user", "content": _TEXT, "id": f"m{number}"} for number in range(_SIZE)]
    config: dict[str, Any] = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with postgres.PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        for step in range(_SIZE):
            messages.append({"role": "user", "content": _TEXT, "id": f"n{step}"})
            versions = {"messages": f"{step:032}.0"}
            values = {"channel_values": {"messages": messages}, "channel_versions": versions}
            checkpoint = base.empty_checkpoint() | values
            yield
            config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)


def _openai_agents(address: str) -> Work:
    """Runs `SQLAlchemySession.add_items` of the OpenAI Agents SDK with one message."""
    memory, engines = import_module("agents.extensions.memory"), import_module("sqlalchemy.ext.asyncio")
    engine = engines.create_async_engine(address.replace("postgresql:", "postgresql+psycopg:", 1))
    session = memory.SQLAlchemySession("t", engine=engine, create_tables=True)
    with asyncio.Runner() as runner:
        try:
            for _ in range(_SIZE // 500):
                runner.run(session.add_items([{"role": "user", "content": _TEXT}] * 500))
            for _ in range(_SIZE):
                yield
                runner.run(session.add_items([{"role": "user", "content": _TEXT}]))
        finally:
            runner.run(engine.dispose())


def _first_figures() -> Iterator[Row]:
    """Yields the costs of the first figures of the recorded conversations, and of a status line, beside ccusage's."""
    logs = sorted(path for path in TRANSCRIPTS.glob("claude_code_*/**/*.jsonl") if path.stat().st_size >= _LARGE)
    if not logs:
        return
    with _home(logs) as (home, ccusage):
        size = sum(log.stat().st_size for log in logs) / 1e6
        others = {"ccusage": _run(home, [*ccusage, "session", "--json", "--offline"])} if ccusage else {}
        yield from _table(f"first figures of {len(logs)} files, {size:.0f} MB", _follow(home, len(logs)), others)
        # Agents' settings name the installed program, if there is one. `-m` imports more modules than the line needs.
        installed = Path(sys.executable).with_name("ullage")
        words = [str(installed)] if installed.is_file() else [sys.executable, "-m", "ullage"]
        ours = [*words, "statusline", "--store", str(home / "store.db")]
        given = json.dumps(_STATUS | {"session_id": logs[0].stem, "transcript_path": str(logs[0])}).encode()
        lines = [_run(home, ours, given) for _ in range(_RUNS)]
        theirs = [_run(home, [*ccusage, "statusline", "--offline"], given) for _ in range(_RUNS)] if ccusage else []
        yield from _table("a status line", median(lines), {"ccusage": median(theirs)} if theirs else {})


@contextmanager
def _home(logs: Sequence[Path]) -> Generator[tuple[Path, list[str]]]:
    """Yields a home with copies of the conversations, and the words that run ccusage: none if npm cannot install it."""
    with TemporaryDirectory(prefix="ullage-rivals-") as folder:
        home, tools = Path(folder) / "home", Path(folder) / "tools"
        for number, log in enumerate(logs):
            copy = home / ".claude" / "projects" / f"-home-user-project{number}" / log.name
            copy.parent.mkdir(parents=True)
            shutil.copyfile(log, copy)
        npm, node = shutil.which("npm"), shutil.which("node")
        words = [str(npm), "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(tools), "ccusage@18"]
        if not npm or not node or subprocess.run(words, check=False, capture_output=True).returncode:
            yield home, []
        else:
            yield home, [node, str(tools / "node_modules" / "ccusage" / "dist" / "index.js")]


def _follow(home: Path, files: int) -> float:
    """Follows the files into a new store. Returns the seconds until all were shown."""
    shown, began = set[str](), time.perf_counter()
    with watch(home) as (_, rows):
        while len(shown) < files:
            shown.add(rows.get(timeout=PATIENCE)[1]["path"])
        return time.perf_counter() - began


def _run(home: Path, words: Sequence[str], data: bytes = b"") -> float:
    """Runs a program to its end. Returns the seconds that it took."""
    return seconds(lambda: subprocess.run(words, input=data, env=environment(home), check=True, capture_output=True))
