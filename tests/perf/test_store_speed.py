"""Times of the store that must not grow with the session; `-s` prints the figures."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.logs import message, records
from ullage.model.events import SessionCreated
from ullage.store import SqliteStore, open_store

pytestmark = pytest.mark.slow

SMALL, LARGE = 100, 50_000
_TEXT = "The quick brown fox jumps over the lazy dog. " * 20


def filled_store(path: Path, messages: int) -> SqliteStore:
    store = open_store(path)
    store.create("s", records(SessionCreated(), *(message(f"m{index}", _TEXT) for index in range(messages))))
    return store


def report(what: str, value: float) -> None:
    print(f"{what}: {value:.3g}")  # noqa: T201  (figures for developers)


def timed(call: Callable[[], object]) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_appending_to_a_large_session_costs_what_appending_to_a_small_one_does(tmp_path: Path) -> None:
    stores = {size: filled_store(tmp_path / f"{size}.db", size) for size in (SMALL, LARGE)}
    times: dict[int, list[float]] = {SMALL: [], LARGE: []}
    # In turn, so that other load on the machine slows both equally.
    for number in range(2_000):
        for size, store in stores.items():
            batch = records(message(f"n{number}", _TEXT), start=size + 1 + number)
            times[size].append(timed(lambda store=store, batch=batch: store.append("s", batch)))
    for size, store in stores.items():
        report(f"append to {size} records, median µs", statistics.median(times[size]) * 1e6)
        report(f"append to {size} records, mean µs", statistics.mean(times[size]) * 1e6)
        store.close()
    ratio = statistics.median(times[LARGE]) / statistics.median(times[SMALL])
    report("ratio of the medians", ratio)
    report("ratio of the means", statistics.mean(times[LARGE]) / statistics.mean(times[SMALL]))
    assert ratio <= 1.5


def test_a_large_session_opens_from_its_snapshot_as_fast_as_a_small_one(tmp_path: Path) -> None:
    times: dict[int, float] = {}
    for size in (SMALL, LARGE):
        with filled_store(tmp_path / f"{size}.db", size) as store:
            report(f"open {size} messages without a snapshot, ms", timed(lambda store=store: store.open("s")) * 1e3)
            store.save_snapshot("s", size - 50, b"state")
            times[size] = min(timed(lambda store=store: store.open("s")) for _ in range(50))
            report(f"open {size} messages, 50 of them after the snapshot, ms", times[size] * 1e3)
    assert times[LARGE] / times[SMALL] <= 1.5


def test_only_the_first_search_of_a_large_session_takes_long(tmp_path: Path) -> None:
    with filled_store(tmp_path / "s.db", LARGE) as store:
        store.append("s", records(message("needle", "a walnut"), start=LARGE + 1))
        first = timed(lambda: store.search("walnut"))
        second = statistics.median(timed(lambda: store.search("walnut")) for _ in range(20))
        common = timed(lambda: store.search("quick fox", "s"))
        report("first search of 50,000 messages, s", first)
        report("next search, ms", second * 1e3)
        report("search for words in every message, ms", common * 1e3)
        assert second < first / 20


def test_finding_a_message_by_its_id_costs_the_same_in_a_large_session(tmp_path: Path) -> None:
    times: dict[int, float] = {}
    for size in (SMALL, LARGE):
        with filled_store(tmp_path / f"{size}.db", size) as store:
            found = [timed(lambda store=store, n=n: store.find_message("s", f"m{n}")) for n in range(SMALL)]
            missed = [timed(lambda store=store, n=n: store.find_message("s", f"x{n}")) for n in range(SMALL)]
            times[size] = statistics.median(found) + statistics.median(missed)
        report(f"find a message among {size}, ms", times[size] * 1e3)
    assert times[LARGE] <= 2 * times[SMALL]


def test_a_page_of_messages_costs_the_same_in_a_large_session(tmp_path: Path) -> None:
    times: dict[int, float] = {}
    for size in (SMALL, LARGE):
        with filled_store(tmp_path / f"{size}.db", size) as store:
            pages = [
                timed(lambda store=store, n=n: store.read_messages("s", n, n + 20)) for n in range(0, SMALL - 20, 5)
            ]
            edits = [timed(lambda store=store: store.read_edits("s")) for _ in pages]
            times[size] = statistics.median(pages) + statistics.median(edits)
        report(f"read 20 messages and all edits of {size}, ms", times[size] * 1e3)
    assert times[LARGE] <= 2 * times[SMALL]
