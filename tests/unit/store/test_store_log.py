"""The contract of `SessionStore`: appending, reading, snapshots, calibrations; and that the work does not grow with a
session."""

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.logs import conversation, message, records
from support.steps import sqlite_steps
from ullage.model.errors import ConcurrentAppend, Conflict, InvalidRequest, SessionNotFound
from ullage.model.events import (
    AgentAttached,
    ConversationImported,
    EditReverted,
    ModelChanged,
    SessionCreated,
    SessionRenamed,
)
from ullage.service.ports.store import ImportedSession, SessionStore
from ullage.store import SqliteStore, open_store


def test_a_session_reads_back_as_it_was_created(store: SessionStore) -> None:
    log = conversation("one", "two")
    store.create("s", log)
    assert store.read("s") == log


def test_appended_records_follow_the_first_ones(store: SessionStore) -> None:
    first = conversation("one")
    more = records(message("m1"), message("m2"), start=2)
    store.create("s", first)
    store.append("s", more)
    assert store.read("s") == first + more


def test_messages_keep_their_order_when_a_clock_jumps_by_centuries(store: SessionStore) -> None:
    chance, far = random.Random(1), 300 * 365 * 24 * 3_600_000
    log = records(SessionCreated())
    store.create("s", log)
    for number in range(1, 201):
        at = max(0, 1_700_000_000_000 + chance.randrange(-far, far))
        more = records(message(f"m{number}"), start=number, timestamp=at)
        store.append("s", more)
        log += more
    assert store.read("s") == log


async def test_another_thread_reads_a_whole_log(store: SessionStore) -> None:
    log = conversation("one", "two")
    store.create("s", log)
    assert await asyncio.to_thread(store.read_apart, "s") == log
    with pytest.raises(SessionNotFound):
        await asyncio.to_thread(store.read_apart, "none")


def test_reading_a_range_includes_its_start_and_excludes_its_stop(store: SessionStore) -> None:
    log = conversation("one", "two", "three")
    store.create("s", log)
    assert store.read("s", 1, 3) == log[1:3]
    assert store.read("s", 4) == ()


def test_appending_at_a_taken_position_is_a_conflict_and_changes_nothing(store: SessionStore) -> None:
    log = conversation("one")
    store.create("s", log)
    with pytest.raises(ConcurrentAppend, match="position 2, not 1"):
        store.append("s", records(message("late"), start=1))
    assert store.read("s") == log


def test_appending_beyond_the_next_position_is_a_conflict(store: SessionStore) -> None:
    store.create("s", conversation("one"))
    with pytest.raises(ConcurrentAppend):
        store.append("s", records(message("early"), start=3))


def test_records_with_gaps_are_refused(store: SessionStore) -> None:
    store.create("s", conversation())
    with pytest.raises(InvalidRequest, match="skip or repeat"):
        store.append("s", records(message("a"), start=1) + records(message("b"), start=3))


def test_appending_nothing_changes_nothing(store: SessionStore) -> None:
    store.create("s", conversation("one"))
    before = store.info("s")
    store.append("s", ())
    assert store.info("s") == before


def test_a_session_cannot_start_empty(store: SessionStore) -> None:
    with pytest.raises(InvalidRequest, match="without a record"):
        store.create("s", ())


def test_an_id_can_be_used_once(store: SessionStore) -> None:
    store.create("s", conversation("one"))
    with pytest.raises(Conflict, match="exists already"):
        store.create("s", conversation("two"))


def test_a_log_starts_at_position_0(store: SessionStore) -> None:
    with pytest.raises(ConcurrentAppend):
        store.create("s", records(SessionCreated(), start=1))
    assert store.list() == ()


CALLS_WITH_A_SESSION: dict[str, Callable[[SessionStore], object]] = {
    "append": lambda store: store.append("nobody", records(message("m"))),
    "open": lambda store: store.open("nobody"),
    "read": lambda store: store.read("nobody"),
    "save_snapshot": lambda store: store.save_snapshot("nobody", 0, b""),
    "drop_snapshot": lambda store: store.drop_snapshot("nobody"),
    "info": lambda store: store.info("nobody"),
    "delete": lambda store: store.delete("nobody"),
    "search": lambda store: store.search("word", "nobody"),
}


@pytest.mark.parametrize("call", CALLS_WITH_A_SESSION.values(), ids=CALLS_WITH_A_SESSION)
def test_an_unknown_session_is_not_found(store: SessionStore, call: Callable[[SessionStore], object]) -> None:
    with pytest.raises(SessionNotFound, match="nobody"):
        call(store)


def test_without_a_snapshot_everything_is_opened(store: SessionStore) -> None:
    log = conversation("one", "two")
    store.create("s", log)
    opened = store.open("s")
    assert (opened.records, opened.snapshot, opened.snapshot_position) == (log, None, -1)


def test_opening_gives_the_snapshot_and_what_came_after_it(store: SessionStore) -> None:
    log = conversation("one", "two", "three")
    store.create("s", log)
    store.save_snapshot("s", 2, b"state at 2")
    opened = store.open("s")
    assert (opened.records, opened.snapshot, opened.snapshot_position) == (log[3:], b"state at 2", 2)


def test_a_newer_snapshot_replaces_an_older_one_and_not_the_other_way_round(store: SessionStore) -> None:
    store.create("s", conversation("one", "two"))
    for position, snapshot in ((1, b"old"), (2, b"new"), (0, b"oldest")):
        store.save_snapshot("s", position, snapshot)
    assert store.open("s").snapshot == b"new"


def test_a_snapshot_of_a_position_that_is_not_there_is_refused(store: SessionStore) -> None:
    store.create("s", conversation("one"))
    with pytest.raises(InvalidRequest, match="no position 2"):
        store.save_snapshot("s", 2, b"")


def test_a_dropped_snapshot_is_forgotten(store: SessionStore) -> None:
    log = conversation("one")
    store.create("s", log)
    store.save_snapshot("s", 1, b"state")
    store.drop_snapshot("s")
    assert store.open("s").records == log


def test_calibrations_are_kept_per_model_and_replaced(store: SessionStore) -> None:
    store.save_calibration("m-1", b"first")
    store.save_calibration("m-1", b"second")
    store.save_calibration("m-2", b"other")
    assert [store.load_calibration(model) for model in ("m-1", "m-2", "m-3")] == [b"second", b"other", None]


def test_a_session_is_listed_with_what_its_events_say(store: SessionStore) -> None:
    store.create("s", conversation("one", title="first", cwd="/here", model="m-1"))
    store.append("s", records(SessionRenamed(title="second"), ModelChanged(model="m-2"), message("m1"), start=2))
    info = store.info("s")
    assert (info.title, info.cwd, info.model, info.messages) == ("second", "/here", "m-2", 2)
    assert (info.created_at, info.updated_at, info.parent_id) == (1_000, 1_004, None)
    assert store.list() == (info,)


def test_sessions_are_listed_last_changed_first_and_in_pages(store: SessionStore) -> None:
    for session_id, timestamp in (("old", 1), ("new", 3), ("middle", 2)):
        store.create(session_id, records(SessionCreated(), timestamp=timestamp))
    store.append("old", records(message("m"), start=1, timestamp=9))
    assert [info.session_id for info in store.list()] == ["old", "new", "middle"]
    assert [info.session_id for info in store.list(limit=1, offset=1)] == ["new"]


def test_sessions_of_one_folder_are_listed_alone(store: SessionStore) -> None:
    store.create("here", conversation(cwd="/here"))
    store.create("there", conversation(cwd="/there"))
    assert [info.session_id for info in store.list(cwd="/here")] == ["here"]
    assert store.list(cwd="/nowhere") == ()


def test_half_a_surrogate_pair_is_kept_in_events(store: SessionStore) -> None:
    log = conversation("broken \udc80 emoji", cwd="/latin\udce9")
    store.create("s", log)
    assert store.read("s") == log
    assert [info.messages for info in store.list(cwd="/latin\udce9")] == [1]


def test_sessions_are_found_by_the_beginning_of_their_id_unless_they_are_deleted(store: SessionStore) -> None:
    for session_id in ("s_ab2", "s_ab1", "s_b", "s_ab3", "S_AB"):
        store.create(session_id, conversation("one"))
    store.delete("s_ab3")
    assert store.find_ids("s_ab") == ("s_ab1", "s_ab2")
    assert store.find_ids("s_ab", 1) == ("s_ab1",)
    assert store.find_ids("s_%") == ()


def test_sessions_are_found_by_a_message_that_they_have_appended(store: SessionStore) -> None:
    store.create("older", records(SessionCreated(), message("m1")))
    store.create("newer", records(SessionCreated(), message("m0"), message("m1")))
    store.create("gone", records(SessionCreated(), message("m1")))
    store.delete("gone")
    assert store.sessions_with("m1") == ("newer", "older")
    assert store.sessions_with("m2") == ()


def test_a_session_with_other_ids_of_an_agent_is_listed_with_them_in_the_order_of_their_last_use(
    store: SessionStore,
) -> None:
    own, fresh = (AgentAttached(agent="toy", session_id=session_id) for session_id in ("s", "fresh"))
    back = EditReverted(edit_id="e1", timestamp=0)
    store.create("s", records(SessionCreated(), own, message("m1"), fresh, back, own))
    store.create("fresh", records(SessionCreated(), fresh, message("m2"), fresh))
    store.create("no agent's", records(SessionCreated(), message("m3"), back))
    store.create("gone", records(SessionCreated(), own, fresh, back))
    store.delete("gone")
    assert [(one.session_id, one.agent_ids) for one in store.attached()] == [("s", ("fresh", "s"))]


def test_an_imported_session_is_listed_with_its_origin_until_it_is_deleted(store: SessionStore) -> None:
    origin = ConversationImported(format="foreign", origin_id="7f3a")
    later = ConversationImported(format="foreign", origin_id="7f3b")
    store.create("own", records(SessionCreated(), message("m1")))
    store.create("older", records(SessionCreated(), origin, message("m1"), later))
    store.create("newer", records(SessionCreated(), ModelChanged(model="m"), later, message("m2")))
    store.create("gone", records(SessionCreated(), origin, message("m3")))
    store.delete("gone")
    assert store.imported() == (
        ImportedSession(session_id="newer", format="foreign", origin_id="7f3b"),
        ImportedSession(session_id="older", format="foreign", origin_id="7f3a"),
    )


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
