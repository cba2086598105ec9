"""A store on a file system without shared memory, and in a process that has it open several times."""

import mmap
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.logs import message, records
from support.systems import needs_signals
from ullage.cli.commands.doctor import checks
from ullage.model.errors import StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.store import open_store
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.database import connect, has_log

TESTS = Path(__file__).resolve().parents[2]
# Seconds, for a process on a busy machine.
PATIENCE = 120
READ = """
import sys
from pathlib import Path
from ullage.store import open_store
with open_store(Path(sys.argv[1])) as store:
    print(len(store.read("s")))
"""
ASK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA user_version").fetchone()
connection.close()
"""
# Run in a folder on a file system without shared memory.
MOVED = """
import sys
from contextlib import closing
from pathlib import Path
from support.logs import message, records
from ullage.store import open_store
from ullage.store.sqlite.database import connect
from ullage.store.sqlite.database import connect
from ullage.store.sqlite.database import has_log
path = Path(sys.argv[1]) / "s.db"
with open_store(path) as store, open_store(path) as other:
    other.append("s", records(message("two"), start=2))
    assert [record.position for record in store.read("s")] == [0, 1, 2]
with closing(connect(path)) as connection:
    assert not has_log(connection)
"""


def read_by_another_process(path: Path) -> int:
    """Has another process open a store, read a session and close the store. Returns the number of records."""
    command = [sys.executable, "-c", READ, path]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout)


@pytest.fixture
def no_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the system refuse shared memory in files, as such a file system does."""

    def refuse(*_: object) -> None:
        raise OSError(19, "No such device")

    monkeypatch.setattr(mmap, "mmap", refuse)


def test_a_store_that_a_process_opens_twice_loses_nothing_when_another_process_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store, open_store(path):
        store.create("s", records(SessionCreated()))
        assert read_by_another_process(path) == 1
        store.append("s", records(message("one"), start=1))
        assert read_by_another_process(path) == 2


def test_an_archive_that_a_process_opens_twice_keeps_its_log_when_another_process_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db.archive"
    with SqliteOriginals(path), SqliteOriginals(path):
        subprocess.run([sys.executable, "-c", ASK, path], check=True, timeout=PATIENCE)
        assert path.with_name("s.db.archive-wal").exists()


@pytest.mark.usefixtures("no_shared_memory")
def test_without_shared_memory_a_store_has_a_rollback_journal_and_others_read_beside_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        store.create("s", records(SessionCreated()))
        assert read_by_another_process(path) == 1
        with open_store(path) as other:
            other.append("s", records(message("one"), start=1))
        assert len(store.read("s")) == read_by_another_process(path) == 2
        with closing(sqlite3.connect(path)) as connection:
            assert not has_log(connection)
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]


@pytest.mark.usefixtures("no_shared_memory")
def test_without_shared_memory_every_commit_is_on_the_disk(tmp_path: Path) -> None:
    asked: list[str] = []
    opened = sqlite3.connect

    def traced(place: Any, **given: Any) -> sqlite3.Connection:
        connection = opened(place, **given)
        connection.set_trace_callback(asked.append)
        return connection

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite3, "connect", traced)
        open_store(tmp_path / "s.db").close()
    assert "PRAGMA synchronous = FULL" in asked
    assert "PRAGMA synchronous = NORMAL" not in asked


@pytest.mark.usefixtures("no_shared_memory")
def test_the_doctor_says_that_there_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    open_store(path).close()
    found = next(check for check in checks(path, None) if check.what == "store")
    assert "no shared memory" in found.found
    assert not found.remedy


@pytest.mark.usefixtures("no_shared_memory")
@pytest.mark.parametrize("answer", ["", "SQLITE_READONLY"])
def test_without_locks_between_processes_a_store_is_refused(
    tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, 0, answer.encode(), b"")

    monkeypatch.setattr(subprocess, "run", answered)
    with pytest.raises(StoreUnavailable, match="no locks that hold between processes"):
        open_store(tmp_path / "s.db")


@needs_signals
def test_a_store_that_is_moved_to_a_real_file_system_without_shared_memory_is_used_there(
    tmp_path: Path,
) -> None:
    if not Path("/dev/fuse").exists() or os.geteuid():
        pytest.skip("mounting needs Linux, its FUSE and root")
    with open_store(tmp_path / "s.db") as store:
        store.create("s", records(SessionCreated(), message("one")))
        moved = tmp_path / "moved"
        moved.mkdir()
        # With what is still in its log.
        for name in ("s.db", "s.db-wal"):
            (moved / name).write_bytes((tmp_path / name).read_bytes())
    command = ["unshare", "--mount", sys.executable, "-m", "support.fuse_folder", moved, sys.executable, "-c", MOVED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=TESTS, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("said", "level"), [("on", 2), ("1", 2), ("ON", 2), ("off", 1), ("", 1), (None, 1)])
def test_a_commit_waits_for_the_disk_if_the_user_wants_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, level: int
) -> None:
    if said is None:
        monkeypatch.delenv("ULLAGE_DURABLE", raising=False)
    else:
        monkeypatch.setenv("ULLAGE_DURABLE", said)
    path = tmp_path / "s.db"
    open_store(path).close()
    with closing(connect(path)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
