"""Measures the checkout whose `server` folder is on the import path, in a process of its own; `append` starts it.

Prints one JSON object: by case the microseconds of CPU of each call, of the floor, and how often the
case called each method of the store. Sessions are driven by the protocol's methods alone, whose names do not change, so
that an older checkout can be measured with the same file.
"""

import asyncio
import gc
import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time_ns
from typing import Any

import msgspec

from ullage import get_counter
from ullage.api.methods import METHODS
from ullage.app.compose import workspace_on
from ullage.model.settings import Settings, SummarySettings
from ullage.store.sqlite.sqlite_store import open_store

MODEL = "gpt-4o"
# Appends of each kind in one process, those before them that are not measured, the messages of the session that is
# compacted, and how often it is compacted.
APPENDS, WARM_UP, MESSAGES, COMPACTIONS = 300, 30, 2_000, 5
_BY_NAME = {method.name: method for method in METHODS}
_INSERT = "INSERT INTO floor VALUES (?, ?, ?, ?, ?, ?, ?)"


class CountingStore:
    """A store that counts the calls of each of its methods."""

    def __init__(self, store: Any) -> None:
        self.calls = Counter[str]()
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            return method(*arguments, **named)

        return call


class Silent:
    """A listener, so that updates are made."""

    def session_updated(self, session_id: str, update: Any) -> None:
        """Drops the update."""


class Bench:
    """One workspace on a new store, and another file for the floor."""

    def __init__(self, folder: Path) -> None:
        self.store: Any = CountingStore(open_store(folder / "bench.db"))
        self._workspace = workspace_on(self.store, Settings(summary=SummarySettings(writer="offline")))
        self._workspace.bus.listen(Silent())
        self._counter = get_counter(MODEL, None)
        # As the store opens its file, so that the floor pays for the same durability.
        self._floor = sqlite3.connect(folder / "floor.db", isolation_level=None)
        self._floor.execute("PRAGMA journal_mode = WAL")
        self._floor.execute("PRAGMA synchronous = NORMAL")
        self._floor.execute(
            "CREATE TABLE floor (session_id TEXT, position INTEGER, timestamp INTEGER, event TEXT, messages INTEGER, "
            "message_id TEXT, payload BLOB, PRIMARY KEY (session_id, position)) WITHOUT ROWID"
        )

    async def call(self, name: str, **params: Any) -> tuple[Any, float]:
        """One request, and the microseconds that its handler took."""
        method = _BY_NAME[name]
        converted = msgspec.convert(params, method.params)
        began = process_time_ns()
        result: Any = await method.handler(self._workspace, converted)
        return result, (process_time_ns() - began) / 1_000

    def floor(self, number: int, text: str) -> float:
        """Microseconds of one token count and one insert of the message's row, as a transaction."""
        payload = msgspec.json.encode({"type": "message_appended", "message": {"role": "user", "content": text}})
        began = process_time_ns()
        self._counter.count(text)
        self._floor.execute("BEGIN IMMEDIATE")
        self._floor.execute(_INSERT, ("s", number, 1, "message_appended", number, f"m{number}", payload))
        self._floor.execute("COMMIT")
        return (process_time_ns() - began) / 1_000

    async def session(self) -> str:
        """A new session."""
        result, _ = await self.call("session/new", cwd="", model=MODEL)
        return msgspec.to_builtins(result)["sessionId"]


def text_of(number: int | str) -> str:
    """About 40 tokens, different in each message, so that no piece is counted from the cache."""
    return f"Step {number}: read src/module_{number}.py, note what it exports, and say which tests of it fail and why."


async def measure_appends(bench: Bench) -> dict[str, Any]:
    """Small appends: a user's message, then the answer with its usage, in turns."""
    session_id = await bench.session()
    found: dict[str, tuple[list[float], list[float]]] = {"append": ([], []), "answer": ([], [])}
    calls = {kind: Counter[str]() for kind in found}
    used = 2_000
    gc.collect()
    for number in range(2 * (WARM_UP + APPENDS)):
        kind, role = ("answer", "assistant") if number % 2 else ("append", "user")
        text, used = text_of(number), used + 30
        usage = {"input_tokens": used, "output_tokens": 25} if number % 2 else None
        messages = [{"role": role, "content": text}]
        bench.store.calls.clear()
        _, micros = await bench.call("session/append", sessionId=session_id, messages=messages, usage=usage)
        if number >= 2 * WARM_UP:
            calls[kind] += bench.store.calls
            found[kind][0].append(micros)
            found[kind][1].append(bench.floor(number, text_of(f"floor {number}")))
    return {
        kind: {"micros": ours, "floor": floor, "calls": _each(calls[kind], APPENDS)}
        for kind, (ours, floor) in found.items()
    }


async def measure_compactions(bench: Bench) -> dict[str, Any]:
    """Compactions by hand of one long session, each undone again."""
    session_id = await bench.session()
    texts = [text_of(f"{number} of the long session") for number in range(MESSAGES)]
    messages = [{"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)]
    await bench.call("session/configure", sessionId=session_id, context={"enabled": False})
    await bench.call("session/append", sessionId=session_id, messages=messages)
    ours: list[float] = []
    floors: list[float] = []
    calls = Counter[str]()
    for number in range(COMPACTIONS + 1):
        gc.collect()
        bench.store.calls.clear()
        _, micros = await bench.call("context/compact", sessionId=session_id)
        if number:
            ours.append(micros)
            calls += bench.store.calls
            floors.append(_decode(texts))
        await bench.call("context/undo", sessionId=session_id)
    return {"micros": ours, "floor": floors, "calls": _each(calls, COMPACTIONS)}


def _each(calls: Counter[str], times: int) -> dict[str, float]:
    return {name: count / times for name, count in calls.items()}


def _decode(texts: Sequence[str]) -> float:
    """Microseconds of one decoding of the texts as JSON: the least that reading the session once takes."""
    payload = json.dumps(texts)
    began = process_time_ns()
    json.loads(payload)
    return (process_time_ns() - began) / 1_000


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        found = await measure_appends(bench)
        found["compact"] = await measure_compactions(bench)
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
