"""Failures that SQLite itself reports, each caused for real."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ullage.model.errors import StoreUnavailable
from ullage.store.sqlite.sqlite_errors import reporting


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


def test_a_wrong_use_of_sqlite_stays_a_bug(tmp_path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), reporting(tmp_path / "some.db"):
        connection.execute("INSERT INTO t VALUES (1)")
