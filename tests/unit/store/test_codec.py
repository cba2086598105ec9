"""A store in which text is damaged is reported as such, wherever the text is read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis.strategies import binary

from support.logs import message, records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended, SessionCreated, SessionRenamed, UsageReported
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.model.usage import Usage
from ullage.store import open_store
from ullage.store.sqlite.database import reporting
from ullage.store.tables.session_table import decode_event, encode_event, event_name, packed, storable, unpacked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with open_store(path) as store:
        store.create("s", records(SessionCreated(title="A walnut tree")))
        store.append("s", records(message("m", "walnut " * 40), start=1))
    return path


def test_a_message_that_is_no_utf_8_any_more_is_reported(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"walnut walnut", b"walnut \xca\xcblnut"))
    with open_store(path) as store, pytest.raises(StoreUnavailable, match="is damaged"):
        store.read("s")


@pytest.mark.parametrize("at", ["beginning", "middle", "end"])
def test_a_compressed_message_or_snapshot_that_is_damaged_is_reported(path: Path, at: str) -> None:
    long = "".join(Random(1).choices(ascii_letters, k=3_000))
    with open_store(path) as store:
        store.append("s", records(message("long", long), start=2))
        store.save_snapshot("s", 2, long.encode())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table, column in (("records", "payload"), ("snapshots", "snapshot")):
            (kept,) = connection.execute(f"SELECT {column} FROM {table} ORDER BY length({column}) DESC").fetchone()
            place = {"beginning": 2, "middle": len(kept) // 2, "end": len(kept) - 1}[at]
            spoilt = kept[:place] + bytes((kept[place] ^ 0x55,)) + kept[place + 1 :]
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (spoilt, kept))
    with open_store(path) as store:
        for use in (store.read, store.open, partial(store.find_message, message_id="long")):
            with pytest.raises(StoreUnavailable, match="is damaged"):
                use("s")


def test_a_column_that_is_no_utf_8_any_more_is_reported(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"A walnut tree", b"A \xca\xcblnut tree"))
    with open_store(path) as store, pytest.raises(StoreUnavailable, match="is damaged"):
        store.list()


# The encoding of events as JSON


def test_half_surrogate_pairs_and_huge_integers_survive() -> None:
    block = ToolUseBlock(id="t", name="n", input={"huge": 2**70, "broken\ud800": "\udfff", "emoji": "\U0001f377"})
    event = MessageAppended(message=Message(id="m", role=Role.ASSISTANT, content=(block,)))
    assert decode_event(encode_event(event)) == event


def test_the_payload_starts_with_the_events_name() -> None:
    assert encode_event(SessionRenamed(title="t")) == b'{"type":"session_renamed","title":"t"}'


def test_an_event_and_its_class_have_the_same_name() -> None:
    event = UsageReported(usage=Usage(), message_id="m")
    assert event_name(event) == event_name(UsageReported) == "usage_reported"


def test_storable_text_differs_only_where_a_surrogate_pair_is_broken() -> None:
    assert storable("a\udce9\U0001f377") == "a\\udce9\U0001f377"


@given(binary(max_size=700) | binary(min_size=400, max_size=600).map(lambda value: b"x" + value))
def test_any_value_comes_out_of_its_packing_as_it_was(value: bytes) -> None:
    assert unpacked(packed(value)) == value
    assert unpacked(packed(value, inf)) == value


def test_a_long_payload_is_kept_compressed_and_a_short_one_as_it_is() -> None:
    short, long = (encode_event(message("m", "A walnut tree. " * count)) for count in (5, 500))
    assert packed(short) == short
    assert len(packed(long)) < len(long) / 20
    assert decode_event(packed(long)) == decode_event(long)


# Failures that SQLite itself reports, each caused for real


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None, timeout=0)) as connection:
        connection.execute("CREATE TABLE t (x UNIQUE)")
        yield connection


def test_a_full_disk_is_reported_with_the_path(tmp_path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 3")
    with (
        pytest.raises(StoreUnavailable, match=r"some\.db has no room left on its disk"),
        reporting(tmp_path / "some.db"),
    ):
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")


def test_a_read_only_database_is_reported(tmp_path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = 1")
    with (
        pytest.raises(StoreUnavailable, match="is read-only: make it"),
        reporting(tmp_path / "some.db"),
    ):
        connection.execute("INSERT INTO t VALUES (1)")


def test_a_locked_database_is_reported(tmp_path: Path, connection: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="was locked by another process"), reporting(tmp_path / "some.db"):
            connection.execute("BEGIN IMMEDIATE")


def test_a_failure_without_a_remedy_of_its_own_says_what_sqlite_said(
    tmp_path: Path, connection: sqlite3.Connection
) -> None:
    with pytest.raises(StoreUnavailable, match=r"cannot be used .*too big"), reporting(tmp_path / "some.db"):
        connection.execute("SELECT zeroblob(2000000000)")


def test_an_error_of_pythons_own_module_is_not_called_damage(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"cannot be used .a fault"), reporting(tmp_path / "some.db"):
        raise sqlite3.OperationalError("a fault")


def test_a_wrong_use_of_sqlite_stays_a_bug(tmp_path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), reporting(tmp_path / "some.db"):
        connection.execute("INSERT INTO t VALUES (1)")
