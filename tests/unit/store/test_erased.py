"""What was deleted is in no byte of the store's files any more."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from support.kept_bytes import plain_and_inflated, windows_left
from support.logs import conversation
from ullage.store.sqlite.sqlite_store import SqliteStore, open_store

_PHRASES = 60
# Of several pages of the file, compressed.
FILLING = Random(6).randbytes(6_000).hex()


class Lax(sqlite3.Connection):
    """A connection that overwrites nothing, whatever it is asked for: as one of a version that did not ask, with an
    SQLite that doesn't by itself."""

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        done = super().execute(sql, *values)  # type: ignore[arg-type]
        super().execute("PRAGMA secure_delete = OFF")
        return done


class Undecided(sqlite3.Connection):
    """A connection of an SQLite that overwrites nothing by itself."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)  # type: ignore[arg-type]
        self.execute("PRAGMA secure_delete = OFF")


@contextmanager
def connections(kind: type[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=kind))
        yield


def phrases() -> list[str]:
    random = Random(5)
    return ["".join(random.choices("bcdfghjkmpqvwxz", k=20)) for _ in range(_PHRASES)]


def plant(store: SqliteStore) -> None:
    planted = phrases()
    for number in range(0, _PHRASES, 10):
        some = planted[number : number + 10]
        # Every second one is long enough to be compressed.
        texts = (f"the {one} is secret {FILLING if place % 2 else ''}" for place, one in enumerate(some))
        store.create(f"s{number}", conversation(*texts))
        store.save_snapshot(f"s{number}", 1, " ".join(some).encode())
        store.save_snapshot(f"s{number}", 1, f"{FILLING} {' '.join(some)}".encode())
    store.create("kept", conversation("walnut " * 50))
    assert store.search("walnut")


def left(folder: Path) -> list[str]:
    """Returns the phrases in any file, also compressed. The index has only the ends of words that begin as the words
    before them."""
    held = plain_and_inflated(folder.iterdir())
    return [one for one in phrases() if one[4:].encode() in held]


def compressed(path: Path) -> list[bytes]:
    """Returns the compressed values of the sessions that are deleted."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT payload FROM records WHERE session_id <> 'kept' UNION ALL SELECT snapshot FROM snapshots"
        ).fetchall()
    return [value for (value,) in rows if value[:1] == b"x"]


def forget(store: SqliteStore, *, rewrite: bool = False) -> None:
    for number in range(0, _PHRASES, 10):
        store.delete(f"s{number}")
    store.erase_deleted(rewrite=rewrite)


def test_what_is_deleted_is_overwritten_also_where_sqlite_does_not_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connections(Undecided, monkeypatch), open_store(tmp_path / "s.db") as store:
        plant(store)
        assert len(left(tmp_path)) == _PHRASES
        values = compressed(store.path)
        assert windows_left(values, tmp_path.iterdir())
        forget(store)
        assert left(tmp_path) == []
        assert not windows_left(values, tmp_path.iterdir())
        assert [hit.session_id for hit in store.search("walnut")] == ["kept"]


def test_what_an_earlier_version_left_is_overwritten_by_writing_the_file_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connections(Lax, monkeypatch), open_store(tmp_path / "s.db") as store:
        plant(store)
        values = compressed(store.path)
        forget(store)
        assert len(left(tmp_path)) == _PHRASES
        assert windows_left(values, tmp_path.iterdir())
    with open_store(tmp_path / "s.db") as store:
        store.erase_deleted(rewrite=True)
        assert left(tmp_path) == []
        assert not windows_left(values, tmp_path.iterdir())
        assert [hit.session_id for hit in store.search("walnut")] == ["kept"]


def test_another_process_that_has_the_store_open_keeps_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store, open_store(tmp_path / "s.db") as other:
        plant(store)
        assert other.search("walnut")
        forget(store)
        assert left(tmp_path) == []
        assert other.info("kept").messages == 1
