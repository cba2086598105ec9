"""Measures what must not grow with a session: appending, opening, finding a message, a page, searching again.

The floor is the same work on a session of 100 messages, in turn with ours, so that other load slows both equally. The
tests count the steps of the same work (`tests/unit/store/test_store_growth.py`).
"""

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches import store_postgres
from benches.report import Aim, Report, at_most, median
from support.logs import message, records
from support.workspace import build_test_client
from ullage.model.events import SessionCreated
from ullage.service.conversation.conversation import Conversation, view_page
from ullage.store import SqliteStore, open_store

SMALL, LARGE = 100, 50_000
# Of a context, whose messages are counted as they come.
LONG_CONTEXT = 10_000
ROUNDS = 400
PAGE = 20
# Of a session with a snapshot: the messages after it.
_AFTER = 50
_TEXT = "The quick brown fox jumps over the lazy dog. " * 20
# A larger file has deeper trees, and fewer of its pages are in SQLite's cache.
_GROWTH_AIM = 1.5
# The share of the first search, which indexes all messages.
_AGAIN_AIM = 0.05

Work = Callable[[SqliteStore, int], object]
Measured = tuple[dict[str, Any], Aim]


def run(paths: Sequence[Path], *, is_long: bool = False) -> Report:
    """Returns a row for each kind of work, in SQLite and then in PostgreSQL."""
    with TemporaryDirectory() as folder, ExitStack() as opened:
        small, large = (opened.enter_context(_filled(Path(folder) / f"{size}.db", size)) for size in (SMALL, LARGE))
        measured = [
            *(_growth(what, work, small, large) for what, work in WORK.items()),
            _open_from_snapshot(small, large),
            asyncio.run(_context_page()),
            _search_again(large),
        ]
    served = store_postgres.measure(paths, is_long=is_long)
    return Report(
        bench="store",
        rows=[row for row, _ in (*measured, *served)],
        aims=[*(aim for _, aim in measured), *(aim for _, aims in served for aim in aims)],
    )


def _append(store: SqliteStore, number: int) -> object:
    size = LARGE if store.path.stem == str(LARGE) else SMALL
    return store.append("s", records(message(f"n{number}", _TEXT), start=size + 1 + number))


WORK: dict[str, Work] = {
    "append a message": _append,
    "find a message by its id": lambda store, number: store.find_message("s", f"m{number % SMALL}"),
    "look for a message that is not there": lambda store, number: store.find_message("s", f"x{number}"),
    f"a page of {PAGE} messages": lambda store, number: store.read_messages("s", number % 80, number % 80 + PAGE),
    "all edits": lambda store, _: store.read_edits("s"),
}


def _growth(what: str, work: Work, small: SqliteStore, large: SqliteStore) -> Measured:
    """Compares the medians of the same work on both stores, in turn."""
    gc.collect()
    times: dict[Path, list[float]] = {small.path: [], large.path: []}
    for number in range(ROUNDS):
        for store in (small, large):
            times[store.path].append(_time(lambda store=store, number=number: work(store, number)))
    name = f"{what} of {LARGE:,}, floor: of {SMALL}"
    return _compare(name, median(times[small.path]), median(times[large.path]), _GROWTH_AIM)


def _open_from_snapshot(small: SqliteStore, large: SqliteStore) -> Measured:
    for store in (small, large):
        store.save_snapshot("s", store.open("s").records[-1].position - _AFTER, b"state")
    return _growth(f"open from a snapshot, {_AFTER} messages after it,", lambda store, _: store.open("s"), small, large)


async def _context_page() -> Measured:
    short, long = await _context(SMALL), await _context(LONG_CONTEXT)
    times: dict[str, list[float]] = {"short": [], "long": []}
    for _ in range(ROUNDS):
        for which, conversation in (("short", short), ("long", long)):
            began = time.perf_counter()
            await view_page(conversation, PAGE, PAGE)
            times[which].append(time.perf_counter() - began)
    name = f"a page of a context of {LONG_CONTEXT:,} messages, floor: of {SMALL}"
    return _compare(name, median(times["short"]), median(times["long"]), _GROWTH_AIM)


async def _context(messages: int) -> Conversation:
    client = build_test_client()
    created = await client.call("session/new", model="unknown-model")
    for start in range(0, messages, 500):
        await client.say(created["sessionId"], *(f"{at}: {_TEXT}" for at in range(start, min(start + 500, messages))))
    return client.workspace.open(created["sessionId"])


def _search_again(store: SqliteStore) -> Measured:
    store.append("s", records(message("needle", "a walnut"), start=store.info("s").messages + 1))
    first = _time(lambda: store.search("walnut"))
    again = median(_time(lambda: store.search("walnut")) for _ in range(20))
    return _compare(f"search {LARGE:,} messages again, floor: the first search", first, again, _AGAIN_AIM)


def _filled(path: Path, messages: int) -> SqliteStore:
    store = open_store(path)
    store.create("s", records(SessionCreated(), *(message(f"m{index}", _TEXT) for index in range(messages))))
    return store


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _compare(what: str, floor: float, ours: float, aim: float) -> Measured:
    row = {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
    return row, at_most(f"{what}: ratio", ours / floor, aim)
