"""What a store does for a session does not grow with the session. The work is counted in steps of SQLite."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.logs import message, records
from support.steps import sqlite_steps
from ullage.model.events import SessionCreated
from ullage.store import SqliteStore, open_store

SMALL, LARGE = 100, 3_000
# Of a session of which a snapshot was saved: the messages after it.
AFTER = 50
# Steps more or less by which a reading ends, in the middle of an index or at its end.
FEW = 5


def fill(path: Path, messages: int) -> SqliteStore:
    store = open_store(path)
    texts = (message(f"m{index}", f"The quick fox jumps over dog {index}.") for index in range(messages))
    store.create("s", records(SessionCreated(), *texts))
    return store


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """A store with a small session, and one with a large session."""
    with fill(tmp_path / "small.db", SMALL) as small, fill(tmp_path / "large.db", LARGE) as large:
        yield small, large


def steps_of(store: SqliteStore, work: Callable[[SqliteStore], object]) -> int:
    with sqlite_steps(store.path) as steps:
        work(store)
    assert steps.taken > 0
    return steps.taken


def test_appending_takes_no_more_steps_in_a_large_session(both: tuple[SqliteStore, SqliteStore]) -> None:
    small, large = (
        steps_of(store, lambda store, size=size: store.append("s", records(message("new"), start=size + 1)))
        for store, size in zip(both, (SMALL, LARGE), strict=True)
    )
    assert large <= small + FEW


def test_opening_from_a_snapshot_takes_no_more_steps_in_a_large_session(both: tuple[SqliteStore, SqliteStore]) -> None:
    for store, size in zip(both, (SMALL, LARGE), strict=True):
        store.save_snapshot("s", size - AFTER, b"state")
        assert len(store.open("s").records) == AFTER
    small, large = (steps_of(store, lambda store: store.open("s")) for store in both)
    assert large <= small + FEW


@pytest.mark.parametrize("name", ["m7", "m99", "missing"])
def test_finding_a_message_takes_no_more_steps_in_a_large_session(
    both: tuple[SqliteStore, SqliteStore], name: str
) -> None:
    for find in (SqliteStore.find_message, SqliteStore.find_index):
        small, large = (steps_of(store, lambda store, find=find: find(store, "s", name)) for store in both)
        assert large <= small + FEW


@pytest.mark.parametrize("start", [0, 40, SMALL - 20])
def test_a_page_of_messages_takes_no_more_steps_in_a_large_session(
    both: tuple[SqliteStore, SqliteStore], start: int
) -> None:
    small, large = (steps_of(store, lambda store: store.read_messages("s", start, start + 20)) for store in both)
    assert large <= small + FEW


def test_reading_the_edits_takes_no_more_steps_in_a_large_session(both: tuple[SqliteStore, SqliteStore]) -> None:
    small, large = (steps_of(store, lambda store: store.read_edits("s")) for store in both)
    assert large <= small + FEW


def test_only_the_first_search_indexes(both: tuple[SqliteStore, SqliteStore]) -> None:
    _, store = both
    assert store.search("walnut") == ()
    # Steps are counted on open connections, and the first search has opened one.
    store.append("s", records(*(message(f"n{index}", "a walnut") for index in range(SMALL)), start=LARGE + 1))
    first, *others = (steps_of(store, lambda store: store.search("walnut")) for _ in range(4))
    assert len(set(others)) == 1
    # Indexing writes a row for each new message, in about fifty steps.
    assert others[0] < first - 20 * SMALL


def test_a_search_for_a_rare_word_hardly_takes_more_steps_in_a_large_session(
    both: tuple[SqliteStore, SqliteStore],
) -> None:
    for store, size in zip(both, (SMALL, LARGE), strict=True):
        store.append("s", records(message("needle", "a walnut"), start=size + 1))
        assert len(store.search("walnut")) == 1
    small, large = (steps_of(store, lambda store: store.search("walnut")) for store in both)
    # The index has a few more segments, though 30 times as many rows.
    assert large < 2 * small
