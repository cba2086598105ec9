"""Laws of the store: whatever was written and wherever the file was cut, the log reads back as a prefix; a search finds
the same however messages were indexed; a machine that loses its server loses nothing."""

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from support.logs import conversation, fork, message, records
from support.machines import Machine
from support.memory_store import MemoryStore
from ullage.model.errors import StoreUnavailable
from ullage.model.events import (
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    SessionRenamed,
)
from ullage.service.ports.store import SearchHit, SessionInfo, SessionStore
from ullage.store import SqliteStore, open_store

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


WORDS = ("harbour", "ferry", "walnut", "parse_config", "closed", "since", "I", "you")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=12)
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


def search(texts: Sequence[str], query: str, indexed_after: Sequence[int]) -> tuple[SearchHit, ...]:
    """Returns the hits in a new store to which the texts were appended one by one, and which indexed what it had after
    each of the given numbers of texts."""
    with TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store:
        store.create("s", records(SessionCreated()))
        for number, text in enumerate(texts, 1):
            store.append("s", records(message(f"m{number}", text), start=number))
            while number in indexed_after and store.index_some("s"):
                pass
        return store.search(query, "s")


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES, st.sets(st.integers(1, 12)))
def test_an_index_made_step_by_step_finds_what_one_made_at_once_finds(
    texts: list[str], query: str, indexed_after: set[int]
) -> None:
    at_once = search(texts, query, ())
    assert search(texts, query, sorted(indexed_after)) == at_once
    assert search(texts, query, ()) == at_once


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES)
def test_hits_come_best_first_and_each_message_once(texts: list[str], query: str) -> None:
    hits = search(texts, query, ())
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.message_id for hit in hits}) == len(hits)
    assert all(hit.score > 0 for hit in hits)


MACHINES, SESSIONS = 2, 3
_ACTS = ("add", "add", "add", "fork", "create", "cut", "lose answer", "mend", "restart", "catch up and die")
_STEPS = st.lists(
    st.tuples(st.sampled_from(range(MACHINES)), st.sampled_from(_ACTS), st.integers(0, 5), st.integers(0, 9)),
    max_size=40,
)


class Story:
    """What the machines do, with every message that was acknowledged and the one that came before it."""

    def __init__(self, folder: Path) -> None:
        self._server = folder / "server.db"
        with open_store(self._server) as store:
            for number in range(SESSIONS):
                store.create(f"s{number}", conversation(f"begin {number}"))
        self.machines: list[Machine] = []
        for number in range(MACHINES):
            own = folder / f"{number}"
            own.mkdir()
            self.machines.append(Machine(own, self._server))
        self.acknowledged: dict[str, str | None] = {}

    def close(self) -> None:
        for machine in self.machines:
            machine.close()

    def step(self, machine: Machine, act: str, which: int, place: int) -> None:
        names = machine.store.find_ids("")
        name = names[which % len(names)] if names else ""
        match act:
            case "add" | "fork" if not names:
                pass
            case "add":
                self._add(machine, name)
            case "fork":
                self._fork(machine, name, place)
            case "create":
                new = f"n{len(self.acknowledged)}"
                machine.store.create(f"s-{new}", conversation()[:1])
                self._add(machine, f"s-{new}")
            case "cut":
                machine.line.is_cut = True
            case "lose answer":
                machine.line.loses_answer = not machine.line.is_cut
            case "mend":
                machine.mend()
            case "restart":
                machine.restart()
            case _:
                machine.die_in_catching_up(place * 3)

    def _add(self, machine: Machine, name: str) -> None:
        new, before = f"a{len(self.acknowledged)}", last_message(machine, name)
        try:
            machine.add(name, message(new))
        except StoreUnavailable:
            # It is not whole on this machine.
            return
        self.acknowledged[new] = before

    def _fork(self, machine: Machine, name: str, place: int) -> None:
        try:
            log = machine.store.read(name)
        except StoreUnavailable:
            return
        at = min(place, len(log) - 1)
        shown = [r.event.message.id for r in log[: at + 1] if isinstance(r.event, MessageAppended)]
        new = f"a{len(self.acknowledged)}"
        machine.store.create(f"f-{new}", fork(name, at, message(new)))
        self.acknowledged[new] = shown[-1] if shown else None


def last_message(machine: Machine, name: str) -> str | None:
    try:
        log = machine.store.read(name)
    except StoreUnavailable:
        return None
    return next((r.event.message.id for r in reversed(log) if isinstance(r.event, MessageAppended)), None)


def own_messages(store: SqliteStore) -> list[str]:
    """Returns the ids of the messages of all sessions, inherited ones left out."""
    rows = store.copied_sessions()
    return [record[4] for row in rows for record in store.copied_records(row.session_id, -1, 1_000) if record[4]]


@given(_STEPS)
@settings(max_examples=25, deadline=None)
def test_whatever_fails_between_machines_every_acknowledged_message_is_kept_once_and_in_its_place(
    steps: list[tuple[int, str, int, int]],
) -> None:
    with TemporaryDirectory() as folder:
        story = Story(Path(folder))
        with closing(story):
            for number, act, which, place in steps:
                story.step(story.machines[number], act, which, place)
            for machine in story.machines:
                machine.mend()
        with open_store(Path(folder) / "server.db") as server:
            kept = own_messages(server)
            assert sorted(one for one in kept if one.startswith("a")) == sorted(story.acknowledged)
            assert kept.count("m0") == SESSIONS
            logs = [
                [r.event.message.id for r in server.read(name) if isinstance(r.event, MessageAppended)]
                for name in server.find_ids("")
            ]
            for log in logs:
                for at, one in enumerate(log):
                    if one in story.acknowledged:
                        assert (log[at - 1] if at else None) == story.acknowledged[one]
            for machine in story.machines:
                assert machine.unsent() == ()
