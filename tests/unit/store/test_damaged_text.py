"""A store in which text is damaged is reported as such, wherever the text is read."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from string import ascii_letters

import pytest

from support.logs import message, records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.store import open_store


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
