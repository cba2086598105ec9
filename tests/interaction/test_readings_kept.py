"""A follower that starts again doesn't read the files that an earlier one has read, unless they have changed, and reads
a large file on from where an earlier one has come."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.followed_rig import Rig, talk
from support.log_trees import to_bytes
from ullage.host.side_files import CATALOGUE, beside
from ullage.model.events import SessionRenamed
from ullage.service.ports.agent_files import Appended, FoundFile, Growth, Mark, Pieces, ReadFile, Replaced
from ullage.store.sqlite.catalogue import SqliteReadFiles, SqliteReadings
from ullage.system.growing_files import GrowingFiles

# Messages that make up more than the 256 KiB from which on a reading is kept.
_LONG = "word " * 2_000
_TEXTS = [f"Number {number}. {_LONG}" for number in range(40)]
_LINES = talk(*_TEXTS, "One more", "And an answer", "Another", "So")


class SeenFiles(GrowingFiles):
    """Files that note the numbers of the lines that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        growth = super().read_on(path, mark, origin_id, pieces=pieces)
        match growth:
            case Appended(lines=lines) | Replaced(document=msgspec.Struct(lines=lines)):
                self.lines += [line.number for line in lines]
            case _:
                pass
        return growth


class Restarted(Rig):
    """A rig in which an earlier process has read the first forty messages and kept its reading."""

    def __init__(self, folder: Path) -> None:
        self.seen = SeenFiles()
        self.folder = SqliteReadings(folder / "store.db")
        super().__init__(folder, files=self.seen, readings=self.folder)

    async def begin(self) -> None:
        self.write(_LINES[:40])
        await self.followed.read_all()
        await self.followed.keep()

    @property
    def kept(self) -> dict[str, bytes]:
        """The readings that are kept, by the paths of their files."""
        return {path: data for path, data in self.ask("SELECT path, reading FROM readings")}

    def ask(self, statement: str, *values: Any) -> list[Any]:
        """Returns what the catalogue answers."""
        with closing(
            sqlite3.connect(beside(self.path.parent / "store.db", CATALOGUE), isolation_level=None)
        ) as catalogue:
            return catalogue.execute(statement, values).fetchall()

    async def read_on(self) -> list[int]:
        """Starts again and reads the file to its end. Returns the numbers of the lines that were read for it."""
        self.restart()
        self.seen.lines = []
        await self.followed.read_all()
        return sorted(set(self.seen.lines))

    def expect_all(self, count: int) -> None:
        """Checks that the session has so many messages, each once, and that there is no other one."""
        assert [message.partition(" ")[0] for message in self.texts] == [
            text.partition(" ")[0] for text in [*_TEXTS, "One more", "And an answer", "Another", "So"][:count]
        ]
        assert len(self.said()) == len(set(self.said())) == count
        assert self.sessions == 1


@pytest.fixture
async def rig(tmp_path: Path) -> Restarted:
    """A file that is followed, and the first process that follows it."""
    rig = Restarted(tmp_path)
    await rig.begin()
    return rig


async def test_only_what_was_added_since_is_read(rig: Restarted) -> None:
    rig.add(to_bytes(_LINES[40:42]))
    assert await rig.read_on() == [41, 42]
    rig.expect_all(42)
    rig.add(to_bytes(_LINES[42:]))
    await rig.followed.read_all()
    rig.expect_all(44)


async def test_the_first_look_says_that_there_is_a_conversation_even_if_nothing_was_added(rig: Restarted) -> None:
    rig.restart()
    assert (await rig.followed.look()).changed
    assert not (await rig.followed.look()).changed
    rig.expect_all(40)


async def test_what_the_earlier_process_has_read_after_it_kept_the_reading_is_not_doubled(rig: Restarted) -> None:
    rig.add(to_bytes(_LINES[40:42]))
    await rig.followed.read_all()
    rig.add(to_bytes(_LINES[42:]))
    assert await rig.read_on() == [41, 42, 43, 44]
    rig.expect_all(44)


async def test_a_file_that_grows_long_after_the_restart_is_read_on(rig: Restarted) -> None:
    known = rig.followed.as_read()
    assert known is not None
    rig.restart()
    assert rig.followed.resume(known)
    rig.seen.lines = []
    rig.add(to_bytes(_LINES[40:42]))
    await rig.followed.read_all()
    assert rig.seen.lines == [41, 42]
    rig.expect_all(42)


async def test_a_file_of_which_any_byte_is_another_one_is_read_whole(rig: Restarted) -> None:
    data = rig.path.read_bytes()
    # In the middle: the file has the same size, and both ends are as they were.
    rig.path.write_bytes(data.replace(b"Number 20.", b"Number 99.") + to_bytes(_LINES[40:42]))
    assert await rig.read_on() == list(range(1, 43))
    assert any(text.startswith("Number 99.") for text in rig.texts)


async def test_a_file_whose_session_was_deleted_is_read_whole(rig: Restarted) -> None:
    assert rig.followed.conversation is not None
    session_id = rig.followed.conversation.id
    rig.workspace.ports.store.delete(session_id)
    rig.workspace.drop(session_id)
    assert await rig.read_on() == list(range(1, 41))
    rig.expect_all(40)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"TreeWriter", b"TreeReader"),
        (b"ullage.agents", b"ullage.system"),
        (b"_places", b"_plates"),
        (b"claude-code", b"claude-coda"),
    ],
    ids=["other class", "other package", "other attribute", "other format"],
)
@pytest.mark.parametrize("part", [1.0, 0.5, 0.0], ids=["whole", "cut", "empty"])
async def test_a_damaged_reading_is_not_used(rig: Restarted, before: bytes, after: bytes, part: float) -> None:
    (data,) = rig.kept.values()
    assert before in data
    rig.ask("UPDATE readings SET reading = ?", data.replace(before, after)[: int(part * len(data))])
    rig.add(to_bytes(_LINES[40:42]))
    assert await rig.read_on() == list(range(1, 43))
    rig.expect_all(42)


async def test_the_reading_is_kept_again_when_the_file_has_grown_much_and_only_the_user_may_read_it(
    tmp_path: Path,
) -> None:
    rig = Restarted(tmp_path)
    await rig.begin()
    assert beside(tmp_path / "store.db", CATALOGUE).stat().st_mode & 0o077 == 0
    before = rig.kept
    assert len(before) == 1
    rig.add(to_bytes(_LINES[40:42]))
    await rig.followed.read_all()
    await rig.followed.keep()
    assert rig.kept == before
    rig.write(talk(*_TEXTS, *_TEXTS))
    await rig.followed.read_all()
    await rig.followed.keep()
    assert rig.kept != before


async def test_no_reading_of_a_small_file_is_kept(tmp_path: Path) -> None:
    rig = Restarted(tmp_path)
    rig.write(talk("One", "Two"))
    await rig.followed.read_all()
    await rig.followed.keep()
    assert not beside(tmp_path / "store.db", CATALOGUE).exists()


async def test_the_oldest_readings_go_when_there_are_many(rig: Restarted) -> None:
    known = rig.folder.read(FoundFile(path=rig.path))
    assert known is not None
    (first,) = rig.kept
    for number in range(200):
        rig.folder.write(msgspec.structs.replace(known, path=f"/{number}"))
    assert len(rig.kept) == 200
    assert first not in rig.kept
    large = msgspec.structs.replace(known, path="/large", state=bytes(60 << 20))
    rig.folder.write(large)
    assert sum(map(len, rig.kept.values())) <= 64 << 20
    assert rig.folder.read(FoundFile(path=Path("/large"))) == large


async def test_a_reading_that_has_no_room_by_itself_takes_no_other_ones_place(rig: Restarted) -> None:
    known = rig.folder.read(FoundFile(path=rig.path))
    assert known is not None
    rig.folder.write(msgspec.structs.replace(known, path="/large", state=bytes(65 << 20)))
    assert rig.folder.read(FoundFile(path=Path("/large"))) is None
    assert rig.folder.read(FoundFile(path=rig.path)) == known


class CountedFiles(GrowingFiles):
    """Files that count how often one was read."""

    reads = 0

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        self.reads += 1
        return super().read_on(path, mark, origin_id, pieces=pieces)


class StartedAgain(Rig):
    """A rig that is asked what was read, and starts again with that."""

    def __init__(self, folder: Path) -> None:
        self.counted = CountedFiles()
        super().__init__(folder, files=self.counted)

    async def resumes(self, known: ReadFile) -> bool:
        """Starts again. Returns whether the file counts as read."""
        self.restart()
        self.counted.reads = 0
        return self.followed.resume(known)

    async def read_whole(self, count: int = 4) -> ReadFile:
        """Writes a conversation of so many messages and reads it."""
        self.write(talk(*(f"Number {number}" for number in range(count))))
        await self.followed.read_all()
        known = self.followed.as_read()
        assert known is not None
        return known


async def test_a_file_that_stays_as_it_was_is_shown_without_being_read(tmp_path: Path) -> None:
    rig = StartedAgain(tmp_path)
    known = await rig.read_whole()
    assert rig.followed.conversation is not None
    used = rig.followed.conversation.used
    assert await rig.resumes(known)
    assert not (await rig.followed.look()).changed
    assert rig.counted.reads == 0
    assert rig.followed.conversation.used == used
    assert rig.followed.as_read() == known


async def test_a_file_that_has_grown_since_is_read_and_doubles_nothing(tmp_path: Path) -> None:
    rig, lines = StartedAgain(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    rig.add(to_bytes(lines[4:5]))
    assert not await rig.resumes(known)
    await rig.followed.read_all()
    assert len(rig.said()) == len(set(rig.said())) == 5
    assert rig.sessions == 1


async def test_a_file_that_grows_after_a_restart_goes_on_in_its_session(tmp_path: Path) -> None:
    rig, lines = StartedAgain(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    assert await rig.resumes(known)
    rig.add(to_bytes(lines[4:]))
    await rig.followed.read_all()
    assert rig.texts == [f"Number {number}" for number in range(6)]
    assert len(rig.said()) == 6
    assert rig.sessions == 1


async def test_a_title_that_the_user_has_given_stays_when_the_file_grows_after_a_restart(tmp_path: Path) -> None:
    rig, lines = StartedAgain(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    assert rig.followed.conversation is not None
    rig.followed.conversation.record(SessionRenamed(title="Mine"))
    assert await rig.resumes(known)
    rig.add(to_bytes(lines[4:]))
    await rig.followed.read_all()
    assert rig.workspace.ports.store.list()[0].title == "Mine"


async def test_a_file_with_other_bytes_of_the_same_length_and_time_is_read(tmp_path: Path) -> None:
    rig = StartedAgain(tmp_path)
    known = await rig.read_whole()
    status = rig.path.stat()
    rig.path.write_bytes(rig.path.read_bytes().replace(b"Number 3", b"Number 9"))
    os.utime(rig.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not await rig.resumes(known)


async def test_a_file_whose_session_the_store_has_lost_in_part_is_read(tmp_path: Path) -> None:
    rig = StartedAgain(tmp_path)
    known = await rig.read_whole()
    # As after a loss of power, if the list was written to the disk but the store's last transaction was not.
    more = ReadFile(
        path=known.path,
        origin_id=known.origin_id,
        session_id=known.session_id,
        messages=known.messages + 1,
        stat=known.stat,
        ends=known.ends,
    )
    assert not await rig.resumes(more)


async def test_a_file_whose_session_was_deleted_is_read(tmp_path: Path) -> None:
    rig = StartedAgain(tmp_path)
    known = await rig.read_whole()
    rig.workspace.ports.store.delete(known.session_id)
    rig.workspace.drop(known.session_id)
    assert not await rig.resumes(known)


async def test_a_file_of_which_the_session_has_only_a_part_does_not_count_as_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(2_000))
    rig.write(talk(*(f"Number {number}" for number in range(41))))
    assert (await rig.followed.look()).more
    assert rig.followed.as_read() is None
    await rig.read()
    assert rig.followed.as_read() is not None


def test_a_list_that_is_damaged_or_of_another_version_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = SqliteReadFiles(tmp_path / "store.db")
    assert list(known.read()) == []
    one = ReadFile(path="/a", origin_id="", session_id="s1", messages=1, stat=(1, 2, 3), ends=b"ends")
    known.write([one])
    assert list(known.read()) == [one]
    with monkeypatch.context() as another:
        another.setattr("ullage.store.sqlite.catalogue.__version__", "0")
        assert list(known.read()) == []
    assert list(known.read()) == [one]
    (tmp_path / "store.db.catalogue.db").write_bytes(b"no database" * 100)
    assert list(known.read()) == []
