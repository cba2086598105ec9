"""Laws of the log: whatever was written and wherever the file was cut, the log reads back as a prefix."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.logs import message, records
from support.memory_store import MemoryStore
from ullage.model.events import (
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    SessionRenamed,
)
from ullage.service.ports.store import SessionInfo, SessionStore
from ullage.store import open_store

EVENTS = st.lists(
    st.one_of(
        st.builds(message, st.uuids().map(str), st.text()),
        st.builds(SessionRenamed, title=st.text()),
        st.builds(ModelChanged, model=st.text()),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(more=EVENTS, data=st.data())
def test_every_prefix_of_a_torn_log_loads(more: list[Event], data: st.DataObject) -> None:
    log = records(SessionCreated(), *more)
    kept = data.draw(st.integers(0, len(log)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        with open_store(path) as store:
            store.create("s", log)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DELETE FROM records WHERE position >= ?", (kept,))
        with open_store(path) as store:
            assert store.open("s").records == log[:kept]
            assert store.info("s").messages == sum(isinstance(left.event, MessageAppended) for left in log[:kept])
            store.append("s", log[kept:])
            assert store.read("s") == log


@settings(max_examples=40, deadline=None)
@given(more=EVENTS, branch=EVENTS, data=st.data())
def test_the_store_and_its_twin_agree_about_forks_and_ranges(
    more: list[Event], branch: list[Event], data: st.DataObject
) -> None:
    parent = records(SessionCreated(), *more)
    position = data.draw(st.integers(0, len(parent) - 1))
    fork = records(SessionForked(parent_id="parent", position=position), *branch, start=position + 1)
    start, stop = data.draw(st.integers(0, 30)), data.draw(st.none() | st.integers(0, 30))
    twin = MemoryStore()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store:
        assert outcome(store, parent, fork, start, stop) == outcome(twin, parent, fork, start, stop)


def outcome(
    store: SessionStore, parent: tuple[Record, ...], fork: tuple[Record, ...], start: int, stop: int | None
) -> tuple[tuple[Record, ...], tuple[SessionInfo, ...]]:
    store.create("parent", parent)
    store.create("fork", fork)
    return store.read("fork", start, stop), store.list()
