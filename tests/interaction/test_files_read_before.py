"""A follower that starts again doesn't read the files that an earlier one has read, unless they have changed."""

import os
from pathlib import Path

import pytest

from support.followed_rig import Rig, talk
from support.log_trees import to_bytes
from ullage.model.events import SessionRenamed
from ullage.service.ports.agent_files import Growth, Mark, Pieces, ReadFile
from ullage.store.sqlite.catalogue import SqliteReadFiles
from ullage.system.growing_files import GrowingFiles


class CountedFiles(GrowingFiles):
    """Files that count how often one was read."""

    reads = 0

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        self.reads += 1
        return super().read_on(path, mark, origin_id, pieces=pieces)


class Restarted(Rig):
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
    rig = Restarted(tmp_path)
    known = await rig.read_whole()
    assert rig.followed.conversation is not None
    used = rig.followed.conversation.used
    assert await rig.resumes(known)
    assert not (await rig.followed.look()).changed
    assert rig.counted.reads == 0
    assert rig.followed.conversation.used == used
    assert rig.followed.as_read() == known


async def test_a_file_that_has_grown_since_is_read_and_doubles_nothing(tmp_path: Path) -> None:
    rig, lines = Restarted(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    rig.add(to_bytes(lines[4:5]))
    assert not await rig.resumes(known)
    await rig.followed.read_all()
    assert len(rig.said()) == len(set(rig.said())) == 5
    assert rig.sessions == 1


async def test_a_file_that_grows_after_a_restart_goes_on_in_its_session(tmp_path: Path) -> None:
    rig, lines = Restarted(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    assert await rig.resumes(known)
    rig.add(to_bytes(lines[4:]))
    await rig.followed.read_all()
    assert rig.texts == [f"Number {number}" for number in range(6)]
    assert len(rig.said()) == 6
    assert rig.sessions == 1


async def test_a_title_that_the_user_has_given_stays_when_the_file_grows_after_a_restart(tmp_path: Path) -> None:
    rig, lines = Restarted(tmp_path), talk(*(f"Number {number}" for number in range(6)))
    known = await rig.read_whole()
    assert rig.followed.conversation is not None
    rig.followed.conversation.record(SessionRenamed(title="Mine"))
    assert await rig.resumes(known)
    rig.add(to_bytes(lines[4:]))
    await rig.followed.read_all()
    assert rig.workspace.ports.store.list()[0].title == "Mine"


async def test_a_file_with_other_bytes_of_the_same_length_and_time_is_read(tmp_path: Path) -> None:
    rig = Restarted(tmp_path)
    known = await rig.read_whole()
    status = rig.path.stat()
    rig.path.write_bytes(rig.path.read_bytes().replace(b"Number 3", b"Number 9"))
    os.utime(rig.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not await rig.resumes(known)


async def test_a_file_whose_session_the_store_has_lost_in_part_is_read(tmp_path: Path) -> None:
    rig = Restarted(tmp_path)
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
    rig = Restarted(tmp_path)
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
