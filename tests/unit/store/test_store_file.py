"""Opening the store's file: made private, migrated, and left alone if it is not Ullage's."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from support.logs import conversation, fork, message, records
from support.systems import needs_bound_permissions, needs_modes
from ullage.model.errors import InvalidRequest, SessionNotFound, StoreTooNew, StoreUnavailable
from ullage.store import SqliteStore, open_store
from ullage.store.search.word_index import STEP_BYTES
from ullage.store.sqlite import sqlite_store
from ullage.store.sqlite.database import MIGRATIONS, VERSION, has_log, migrate, set_journal
from ullage.store.sqlite.sqlite_store import Fts5Index
from ullage.store.store_copy import copy_store
from ullage.store.tables.session_table import unpacked


def written_store(path: Path) -> Path:
    """Writes a store with one session and closes it."""
    with open_store(path) as store:
        store.create("s", conversation("one"))
    return path


def untold(*_: object) -> None:
    """Takes the progress of a copy."""


def make_too_new(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_store_is_made_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "sessions.db"
    with open_store(path) as store:
        store.create("s", conversation("one"))
        assert {file.name for file in path.parent.iterdir()} == {"sessions.db", "sessions.db-wal", "sessions.db-shm"}
    assert store.path == path


@needs_modes
def test_a_new_store_is_for_the_user_alone(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        store.create("s", conversation("one"))
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_the_default_store_is_in_the_users_data_folder(tmp_path: Path) -> None:
    code = "from ullage.store import open_store; print(open_store().path)"
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    path = Path(printed.stdout.strip())
    assert path.is_relative_to(tmp_path)
    assert (path.parent.name, path.name) == ("ullage", "sessions.db")
    assert path.is_file()


def test_platformdirs_is_imported_for_the_default_path_alone(tmp_path: Path) -> None:
    code = "import sys, pathlib; from ullage.store import open_store; open_store(pathlib.Path(sys.argv[1])); "
    code += "print('platformdirs' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "s.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_a_store_reopens_with_what_was_written(tmp_path: Path) -> None:
    with open_store(written_store(tmp_path / "s.db")) as store:
        assert store.read("s") == conversation("one")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    written_store(path)
    assert path.stat().st_size > 0


def test_a_store_whose_making_was_cut_short_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0
    with open_store(written_store(path)) as store:
        assert store.read("s") == conversation("one")


def test_a_newer_store_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    make_too_new(path)
    before = contents(tmp_path)
    with pytest.raises(StoreTooNew, match=rf"{path} has version {VERSION + 1}.*update Ullage"):
        open_store(path)
    assert contents(tmp_path) == before
    assert before.keys() == {"s.db"}


def test_a_newer_version_that_is_still_in_the_write_ahead_log_is_seen(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    with closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version = {VERSION + 1}")
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for name in ("s.db", "s.db-wal", "s.db-shm"):
            shutil.copy(tmp_path / name, crashed)
    before = contents(crashed)
    with pytest.raises(StoreTooNew):
        open_store(crashed / "s.db")
    after = contents(crashed)
    assert after.keys() == before.keys()
    assert [after[name] for name in ("s.db", "s.db-wal")] == [before[name] for name in ("s.db", "s.db-wal")]


def test_an_older_store_is_migrated_and_keeps_its_rows(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, (*MIGRATIONS, ("ALTER TABLE sessions ADD COLUMN note TEXT DEFAULT 'new'",)))
        assert connection.execute("SELECT session_id, note FROM sessions").fetchall() == [("s", "new")]
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)


def older_store(path: Path) -> Path:
    written_store(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION - 1}")
    return path


def test_a_store_with_additions_that_this_version_does_not_know_is_read_and_written(tmp_path: Path) -> None:
    path, added = written_store(tmp_path / "s.db"), VERSION + 1
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, (*MIGRATIONS, ("CREATE TABLE later (one TEXT)",)), frozenset({added}))
        (number,) = connection.execute("PRAGMA user_version").fetchone()
    with open_store(path) as store:
        assert store.read("s") == conversation("one")
        store.create("other", conversation("two"))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (number,)
        assert connection.execute("SELECT * FROM later").fetchall() == []


@pytest.mark.parametrize("number", [VERSION + 1, (VERSION + 1) * 1000 + VERSION + 2])
def test_a_store_that_needs_a_newer_version_is_refused(tmp_path: Path, number: int) -> None:
    path = written_store(tmp_path / "s.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(StoreTooNew, match=f"has version {number % 1000}"):
        open_store(path)


def test_a_store_is_copied_before_an_upgrade_and_the_older_version_is_told_of_the_copy(tmp_path: Path) -> None:
    path = older_store(tmp_path / "s.db")
    copy = tmp_path / f"s.db.version-{VERSION - 1}"
    with open_store(path) as store:
        store.create("newer", conversation("two"))
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION - 1,)
        assert connection.execute("SELECT session_id FROM sessions").fetchall() == [("s",)]
    copy.rename(tmp_path / f"s.db.version-{VERSION}")
    make_too_new(path)
    with pytest.raises(StoreTooNew, match=rf"its copy from before the upgrade, .*s\.db\.version-{VERSION}"):
        open_store(path)


def test_one_copy_is_kept_and_none_when_something_is_deleted(tmp_path: Path) -> None:
    path = older_store(tmp_path / "s.db")
    (tmp_path / "s.db.version-1").write_bytes(b"older")
    with open_store(path) as store:
        assert [file.name for file in tmp_path.glob("*version*")] == [f"s.db.version-{VERSION - 1}"]
        store.delete("s")
        store.erase_deleted()
    assert not list(tmp_path.glob("*version*"))


def test_a_store_for_whose_copy_there_is_no_room_is_upgraded_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = older_store(tmp_path / "s.db")

    def nearly_full(_: Path) -> SimpleNamespace:
        return SimpleNamespace(total=10, used=9, free=1)

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    with open_store(path) as store:
        assert store.read("s") == conversation("one")
    assert not list(tmp_path.glob("*version*"))


def test_a_store_that_is_up_to_date_is_not_migrated_again(sqlite_store: SqliteStore) -> None:
    with closing(sqlite3.connect(sqlite_store.path)) as connection:
        migrate(connection)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def make_text_file(path: Path) -> None:
    path.write_text("this is no database, but it is longer than one hundred bytes, " * 3, encoding="utf-8")


def make_foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (Path.mkdir, "is a folder: name a file"),
    "text": (make_text_file, "is not a session store: choose another file"),
    "short": (lambda path: path.write_text("hello"), "is not a session store"),
    "foreign": (make_foreign_database, "is another program's database"),
}


@pytest.mark.parametrize(("make", "remedy"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_is_no_store_is_named_with_a_remedy_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], remedy: str
) -> None:
    path = tmp_path / "s.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreUnavailable, match=f"session store {path} {remedy}"):
        open_store(path)
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]
    assert before is None or path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="choose another file"):
        open_store(tmp_path / "file" / "s.db")


@needs_bound_permissions
def test_a_read_only_file_is_reported(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    path.chmod(0o400)
    with pytest.raises(StoreUnavailable, match="choose another file"):
        open_store(path)


def test_a_damaged_file_is_reported_when_it_is_met(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="is damaged: move it away"), open_store(path) as store:
        store.read("s")


def test_a_file_that_seems_damaged_while_another_process_commits_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, failed = written_store(tmp_path / "s.db"), sqlite3.connect, list[str]()

    def in_the_middle(name: str, *given: Any, **named: Any) -> sqlite3.Connection:
        if named.get("uri") and len(failed) < 3:
            failed.append(name)
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        return real(name, *given, **named)

    monkeypatch.setattr(sqlite3, "connect", in_the_middle)
    with open_store(path) as store:
        assert store.info("s").messages == 1
    assert len(failed) == 3


def test_a_damaged_header_is_reported_when_the_store_is_opened(tmp_path: Path) -> None:
    path = written_store(tmp_path / "s.db")
    data = bytearray(path.read_bytes())
    data[16:18] = b"\x00\x03"  # the page size, which must be a power of two
    path.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="is not a session store"):
        open_store(path)


@pytest.mark.parametrize("payload", [b"{", b'{"type":"unheard_of"}', b'"\\ud800'])
def test_a_record_that_is_no_event_is_reported(sqlite_store: SqliteStore, payload: bytes) -> None:
    sqlite_store.create("s", conversation("one"))
    with closing(sqlite3.connect(sqlite_store.path, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET payload = ? WHERE position = 1", (payload,))
    with pytest.raises(StoreUnavailable, match="is damaged"):
        sqlite_store.read("s")


def test_a_session_id_that_is_no_text_is_refused(sqlite_store: SqliteStore) -> None:
    with pytest.raises(InvalidRequest, match="half a surrogate pair"):
        sqlite_store.info("\ud800")


def test_a_number_beyond_sqlites_is_refused(sqlite_store: SqliteStore) -> None:
    with pytest.raises(InvalidRequest, match="out of range"):
        sqlite_store.list(limit=2**63)


def test_indexing_goes_on_in_steps_until_nothing_is_left(sqlite_store: SqliteStore) -> None:
    filler = "so many words " * (STEP_BYTES // 20)
    sqlite_store.create("s", conversation(*(f"{filler} walnut{number}" for number in range(5))))
    left = [sqlite_store.index_some()]
    while left[-1]:
        left.append(sqlite_store.index_some())
    assert len(left) > 2
    assert left == sorted(set(left), reverse=True)
    for number in range(5):
        assert sqlite_store.search(f"walnut{number}")[0].index == number


def test_one_step_indexes_many_small_sessions(sqlite_store: SqliteStore) -> None:
    for number in range(100):
        sqlite_store.create(f"s{number}", conversation("a hazel", f"a walnut {number}"))
    assert sqlite_store.index_some() == 0
    assert len(sqlite_store.find_passages("walnut", limit=200)) == 100
    assert [one.hit.session_id for one in sqlite_store.find_passages("walnut 42")][:1] == ["s42"]


def test_a_session_is_indexed_without_the_others(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("walnut"))
    sqlite_store.create("other", conversation(*["hazel " * STEP_BYTES] * 2))
    sqlite_store.create("fork", fork("s", 1, message("f", "almond")))
    assert sqlite_store.index_some("fork") == 0
    assert sqlite_store.index_some() > 0


def test_another_process_that_indexes_at_the_same_time_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as one, open_store(path) as two:
        one.create("s", conversation(*(f"{'so many words ' * 200} walnut{number}" for number in range(300))))
        steppers = [Thread(target=store.search, args=("walnut",)) for store in (one, two)]
        for stepper in steppers:
            stepper.start()
        for number in range(50):
            one.append("s", records(message(f"n{number}", "hazel"), start=301 + number))
        for stepper in steppers:
            stepper.join(timeout=300)
        assert sorted(hit.index for hit in two.search("hazel", limit=100)) == list(range(300, 350))
        assert len({hit.index for hit in two.search("walnut7", limit=100)}) == 100


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_with_the_older_index_is_searched_after_its_migration(tmp_path: Path, version: int) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        store.create("s", conversation("a walnut"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in ("message_words", "message_vocabulary", "message_chunks", "vectors"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DROP INDEX attachments")
        connection.execute("DROP INDEX configurations")
        connection.execute("CREATE VIRTUAL TABLE message_text USING fts5 (text)")
        connection.execute("INSERT INTO message_text (rowid, text) SELECT record_id, 'a walnut' FROM records")
        connection.execute("UPDATE sessions SET indexed_position = 1")
        connection.execute(f"PRAGMA user_version = {version}")
    with open_store(path) as store:
        assert [hit.message_id for hit in store.search("walnut")] == ["m0"]


def test_a_purged_session_leaves_no_row(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("walnut", "a long hazel line\n" * 500))
    sqlite_store.save_snapshot("s", 0, b"state")
    sqlite_store.search("walnut")
    sqlite_store.delete("s")
    with closing(sqlite3.connect(sqlite_store.path)) as connection:
        for table in (
            "sessions",
            "records",
            "snapshots",
            "message_words_docsize",
            "message_vocabulary",
            "message_chunks",
        ):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_the_version_changes_when_another_opening_writes(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with open_store(path) as one, open_store(path) as other:
        one.create("s", conversation("one"))
        before = one.version()
        assert one.version() == before
        other.append("s", records(message("m1"), start=2))
        assert one.version() != before


class Refused(sqlite3.Connection):
    """A connection that another process is in the way of, until a statement was refused."""

    other: sqlite3.Connection

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(statement, values)
        except sqlite3.OperationalError:
            self.other.rollback()
            raise


def test_a_new_file_that_another_process_prepares_at_the_same_time_is_opened_as_soon_as_it_can_be(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as other, closing(sqlite3.connect(path, factory=Refused)) as refused:
        other.execute("BEGIN IMMEDIATE")
        refused.other = other
        set_journal(refused, path)
        assert has_log(refused)
        assert not other.in_transaction


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open")
@pytest.mark.parametrize("change", ["deleted", "moved", "replaced"])
def test_nothing_is_acknowledged_that_goes_into_a_file_which_nobody_finds(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        store.create("s", conversation("one"))
        for file in [*tmp_path.iterdir()]:
            file.rename(file.with_name(f"moved-{file.name}"))
        if change == "replaced":
            written_store(path)
        if change == "deleted":
            (tmp_path / "moved-s.db").unlink()
        with pytest.raises(StoreUnavailable, match="deleted, moved or replaced") as refused:
            store.create("t", conversation("two"))
    assert str(path) in str(refused.value)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open")
@pytest.mark.parametrize("gone", [("-wal",), ("-shm",), ("-wal", "-shm")])
def test_nothing_is_acknowledged_without_the_write_ahead_log_or_its_index(
    tmp_path: Path, gone: tuple[str, ...]
) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        store.create("s", conversation("one"))
        for end in gone:
            (tmp_path / f"s.db{end}").unlink()
        with pytest.raises(StoreUnavailable, match=rf"s\.db{gone[0]} was deleted, moved or replaced"):
            store.create("t", conversation("two"))
    with open_store(path) as store:
        store.create("u", conversation("three"))


def test_a_store_opened_by_a_relative_path_is_the_same_file_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(Path("s.db")) as store:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        store.create("s", conversation("one"))
        assert store.read("s") == conversation("one")


def test_rows_of_a_version_that_compressed_nothing_are_read_searched_copied_and_deleted(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with open_store(old) as store:
        store.create("s", conversation("walnut", "a long hazel line\n" * 500))
        store.save_snapshot("s", 2, b"state " * 500)
        as_written = store.read("s")
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.create_function("plain", 1, unpacked)
        connection.execute("UPDATE records SET payload = plain(payload)")
        connection.execute("UPDATE snapshots SET snapshot = plain(snapshot)")
        connection.execute("PRAGMA user_version = 5")
        (before,) = connection.execute("SELECT sum(length(payload)) FROM records").fetchone()
    with open_store(old) as store, open_store(new) as target:
        assert store.read("s") == as_written
        assert store.open("s").snapshot == b"state " * 500
        assert [hit.message_id for hit in store.search("hazel")] == ["m1"]
        assert copy_store(store, target, untold).new == ("s",)
        assert copy_store(store, target, untold).unchanged == ("s",)
        assert target.read("s") == as_written
        assert target.open("s").snapshot == b"state " * 500
        with closing(sqlite3.connect(new)) as connection:
            (after,) = connection.execute("SELECT sum(length(payload)) FROM records").fetchone()
        assert after < before / 10
        store.delete("s")
        with pytest.raises(SessionNotFound):
            store.read("s")


def test_threads_wait_for_each_others_transactions(tmp_path: Path) -> None:
    failures: list[Exception] = []
    with open_store(tmp_path / "s.db") as store:
        store.create("kept", conversation("walnut"))
        is_over = False

        def look() -> None:
            try:
                while not is_over:
                    store.imported()
                    assert store.info("kept").messages == 1
            except (StoreUnavailable, AssertionError) as error:
                failures.append(error)

        threads = [Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in range(40):
                store.create(f"s{number}", conversation(*["walnut and cask"] * 5))
                store.search("cask")
                store.delete(f"s{number}")
        finally:
            is_over = True
            for thread in threads:
                thread.join()
        assert not failures
        # Nothing of what was deleted is left in the index, and nothing is missing in it.
        assert [hit.session_id for hit in store.search("walnut")] == ["kept"]


def _torn(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE message_words_data SET block = x'00ff00ff00ff' WHERE id > 10")


def _gone(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM message_words_data WHERE id > 10")


def _cut(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE message_words_data SET block = substr(block, 1, length(block) / 2) WHERE id > 10")


@pytest.mark.parametrize("damage", [_torn, _gone, _cut])
@pytest.mark.parametrize("first", ["search", "erase"])
def test_a_damaged_index_of_words_is_made_again_and_nothing_else_changes(
    tmp_path: Path, damage: Callable[[sqlite3.Connection], None], first: str
) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        for name in ("one", "two"):
            store.create(name, conversation(f"walnut of {name}"))
        store.index_some()
    with closing(sqlite3.connect(path)) as connection:
        damage(connection)
        connection.commit()
    with open_store(path) as store:
        if first == "search":
            store.search("walnut")
        store.delete("two")
        store.erase_deleted()
        while store.index_some():
            pass
        assert {hit.session_id for hit in store.search("walnut")} == {"one"}
        assert len(store.read("one")) == len(conversation("walnut of one"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO message_words (message_words) VALUES ('integrity-check')")


def test_an_index_that_was_merged_very_often_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_MOST_LEVELS", 5)
    levels: list[int] = []
    with open_store(tmp_path / "s.db") as store, closing(sqlite3.connect(tmp_path / "s.db")) as reader:
        # Small pages make it as large as an index of thousands of messages.
        reader.execute("INSERT INTO message_words (message_words, rank) VALUES ('pgsz', 64)")
        reader.commit()
        for number in range(20):
            store.create(f"k{number}", conversation(*(f"walnut {number} {place}" for place in range(20))))
            store.create(f"s{number}", conversation(f"oak {number}"))
            while store.index_some():
                pass
            store.delete(f"s{number}")
            store.erase_deleted()
            levels.append(sqlite_store._levels(Fts5Index(reader)))  # pyright: ignore[reportPrivateUsage]
        # Without that, each deletion would add two levels.
        assert max(levels) == 6
        while store.index_some():
            pass
        assert all(store.search("walnut", f"k{number}") for number in range(20))
        assert store.search("oak") == ()
