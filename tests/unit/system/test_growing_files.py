"""A file that grows is read on where the last read ended, and a file that is another one is noticed."""

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InvalidRequest
from ullage.service.ports.agent_files import Appended, Growth, Mark, Missing, Replaced
from ullage.system.growing_files import GrowingFiles

FILES = GrowingFiles()


def lines(*numbers: int) -> bytes:
    return b"".join(json.dumps({"number": number, "text": "x" * 300}).encode() + b"\n" for number in numbers)


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def numbers_of(growth: Growth) -> list[int]:
    """Returns the numbers of the lines that a read has returned."""
    assert isinstance(growth, Appended | Replaced)
    read = growth.lines if isinstance(growth, Appended) else growth.document.lines
    return [line.value["number"] for line in read if line.value]


def read_whole(path: Path) -> Mark:
    growth = FILES.read_on(path, None)
    assert isinstance(growth, Replaced)
    return growth.mark


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(1, 2))
    mark = read_whole(path)
    assert FILES.read_on(path, mark) is None
    add(path, lines(3, 4))
    growth = FILES.read_on(path, mark)
    assert isinstance(growth, Appended)
    assert numbers_of(growth) == [3, 4]
    assert [line.number for line in growth.lines] == [3, 4]
    assert FILES.read_on(path, growth.mark) is None


def test_a_last_line_without_its_line_end_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(1, 2)[:-1])
    first = FILES.read_on(path, None)
    assert numbers_of(first) == [1, 2]
    assert isinstance(first, Replaced)
    add(path, b"\n" + lines(3))
    assert numbers_of(FILES.read_on(path, first.mark)) == [3]


@pytest.mark.parametrize(
    "after",
    [lines(1), lines(7, 8, 9, 10), lines(1, 9, 3, 4), b""],
    ids=["shortened", "another", "rewritten in the middle", "emptied"],
)
def test_a_file_that_has_not_only_grown_is_read_as_a_whole(tmp_path: Path, after: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(1, 2))
    mark = read_whole(path)
    path.write_bytes(after)
    growth = FILES.read_on(path, mark)
    assert isinstance(growth, Replaced)
    assert numbers_of(growth) == [json.loads(line)["number"] for line in after.splitlines()]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_with_two_bytes_for_a_character_is_read_again_as_a_whole(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines(1, 2).decode(), encoding)
    growth = FILES.read_on(path, None)
    assert numbers_of(growth) == [1, 2]
    assert isinstance(growth, Replaced)
    path.write_text(lines(1, 2, 3).decode(), encoding)
    assert numbers_of(FILES.read_on(path, growth.mark)) == [1, 2, 3]


def test_a_file_moved_into_its_place_is_read_on_if_it_begins_with_what_was_read(tmp_path: Path) -> None:
    path, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    path.write_bytes(lines(1, 2))
    mark = read_whole(path)
    other.write_bytes(lines(1, 2, 3))
    other.replace(path)
    growth = FILES.read_on(path, mark)
    assert isinstance(growth, Appended)
    assert numbers_of(growth) == [3]


def test_a_deleted_file_is_missing_and_is_read_again_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(1))
    mark = read_whole(path)
    path.unlink()
    assert FILES.read_on(path, mark) == Missing()
    assert FILES.read_on(path, None) == Missing()
    path.write_bytes(lines(5))
    assert numbers_of(FILES.read_on(path, mark)) == [5]


def written_long_ago(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}-wal")):
        os.utime(file, (1_700_000_000, 1_700_000_000))


def test_a_database_that_was_written_just_now_is_read_again_because_the_change_may_not_be_visible_yet(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent.db"
    with sqlite3.connect(path) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute("CREATE TABLE session (id TEXT)")
        writer.commit()
        # However long this machine takes, the log was written just then.
        later = time.time_ns() + 3_600_000_000_000
        ahead = path.with_name("agent.db-wal")
        os.utime(ahead, ns=(later, later))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time_ns", lambda: later + 50_000_000)
            mark = read_whole(path)
            assert FILES.has_changed(path, mark)
            patch.setattr(time, "time_ns", lambda: later + 150_000_000)
            mark = read_whole(path)
        assert not FILES.has_changed(path, mark)
    writer.close()


def test_what_only_the_write_ahead_log_of_a_database_holds_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with sqlite3.connect(path) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("CREATE TABLE session (id TEXT)")
        writer.commit()
        written_long_ago(path)
        mark = read_whole(path)
        assert FILES.read_on(path, mark) is None
        writer.execute("INSERT INTO session VALUES ('s1')")
        writer.commit()
        growth = FILES.read_on(path, mark)
    writer.close()
    assert isinstance(growth, Replaced)
    assert [line.value for line in growth.document.lines] == [{"table": "session", "row": {"id": "s1"}}]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(1))
    path.chmod(0)
    with pytest.raises(InvalidRequest, match=r"log\.jsonl"):
        FILES.read_on(path, None)


@given(st.lists(st.integers(0, 3000), max_size=8), st.integers(0, 9))
def test_however_a_file_grows_each_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], count: int
) -> None:
    whole = lines(*range(count))
    path = tmp_path_factory.mktemp("growing") / "log.jsonl"
    path.touch()
    mark, read, at = None, list[int](), 0
    for cut in [*sorted(cuts), len(whole)]:
        add(path, whole[at : max(at, cut)])
        at = max(at, min(cut, len(whole)))
        growth = FILES.read_on(path, mark)
        if isinstance(growth, Replaced | Appended):
            assert isinstance(growth, Appended) or not read
            read += numbers_of(growth)
            mark = growth.mark
    assert read == list(range(count))
