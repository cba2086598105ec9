"""The operating system says which of agents' files change, and what it does not say is known."""

import asyncio
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from support.workspace import PATIENCE
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.service.ports.agent_files import Changes
from ullage.system import watched_folders
from ullage.system.watched_folders import WatchedFolders

if sys.platform != "linux":
    pytest.skip("only inotify tells of each write", allow_module_level=True)


class Rig:
    """A home with a project of Claude Code, and what is told of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / ".claude" / "projects" / "-shop"
        self.log = self.project / "0c1f7a2e-0000-4000-8000-000000000000.jsonl"
        self.store = folder / "data" / "store.db"
        self.store.parent.mkdir()
        self.home.mkdir()
        self.machine = Machine(system="linux", home=str(self.home), variables={})
        self.watched = WatchedFolders(lambda: self.machine, AGENTS, self.store)
        self.awake = Event()

    def begin(self) -> None:
        self.watched.begin(self.awake.set)

    def told(self) -> Changes:
        """Waits until something is told, and returns it."""
        assert self.awake.wait(PATIENCE), "nothing was told"
        self.awake.clear()
        return self.watched.changes()

    def until(self, path: Path) -> None:
        """Waits until it is told that a file has changed."""
        while str(path) not in self.told().paths:
            pass


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.watched.end()


def write(path: Path, text: str = "{}\n") -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_each_write_to_a_conversation_is_told(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    rig.begin()
    assert rig.watched.is_complete
    assert rig.watched.covers(rig.log)
    for _ in range(3):
        write(rig.log)
        rig.until(rig.log)


def test_an_agent_that_is_installed_later_is_seen(rig: Rig) -> None:
    rig.begin()
    assert not rig.watched.covers(rig.log)
    rig.project.mkdir(parents=True)
    while not rig.told().is_anywhere:
        pass
    rig.watched.arrange()
    write(rig.log)
    rig.until(rig.log)
    assert rig.watched.covers(rig.log)


def test_a_folder_of_which_nothing_can_be_known_keeps_no_other_from_being_watched(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    rig.machine = replace(rig.machine, variables={"CODEX_HOME": str(rig.home / ("x" * 300))})
    rig.begin()
    write(rig.log)
    rig.until(rig.log)


def test_a_folder_that_is_removed_and_made_again_is_watched_again(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    rig.begin()
    rig.project.rmdir()
    rig.project.parent.rmdir()
    while not rig.told().is_anywhere:
        pass
    rig.project.mkdir(parents=True)
    rig.watched.arrange()
    write(rig.log)
    # That a folder is gone may be told after another one is there: whoever is told looks again, as a follower does.
    while str(rig.log) not in (changes := rig.told()).paths:
        if changes.is_anywhere:
            rig.watched.arrange()
            write(rig.log)


def test_what_the_observer_warns_of_is_not_said_to_the_user(rig: Rig) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rig.begin()
        warnings.warn_explicit("It will be Overwritten.", RuntimeWarning, "x.py", 1, "watchdog.observers.inotify")
    assert said == []


def test_other_files_wake_nobody(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    rig.begin()
    write(rig.project / "notes.txt")
    write(rig.home / ".history")
    write(rig.store.parent / "other.db")
    write(rig.log)
    assert rig.told() == Changes(paths=frozenset({str(rig.log)}))


def test_reading_a_conversation_wakes_nobody(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    write(rig.log)
    rig.begin()
    assert rig.log.read_text(encoding="utf-8")
    write(rig.store)
    assert rig.told() == Changes(is_own=True)


def test_what_is_written_ahead_of_a_database_is_told_of_the_database(rig: Rig) -> None:
    database = rig.home / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    rig.begin()
    write(database.with_name("opencode.db-wal"))
    assert rig.told().paths == {str(database)}


def test_a_home_behind_a_link_is_told_of_by_its_own_name(rig: Rig, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "claude"
    (kept / "projects" / "-shop").mkdir(parents=True)
    (rig.home / ".claude").symlink_to(kept)
    rig.begin()
    write(kept / "projects" / "-shop" / rig.log.name)
    rig.until(rig.log)
    assert rig.watched.covers(rig.log)


def test_a_file_that_is_replaced_by_a_link_is_looked_at(rig: Rig, tmp_path: Path) -> None:
    rig.project.mkdir(parents=True)
    write(rig.log)
    rig.begin()
    assert rig.watched.covers(rig.log)
    rig.log.rename(tmp_path / rig.log.name)
    rig.log.symlink_to(tmp_path / rig.log.name)
    assert not rig.watched.covers(rig.log)


def test_folders_with_links_to_others_are_looked_at(rig: Rig, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    rig.project.parent.mkdir(parents=True)
    rig.project.symlink_to(elsewhere)
    rig.begin()
    assert not rig.watched.covers(rig.log)
    assert not rig.watched.is_complete


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs", "fuse"])
def test_folders_on_a_file_system_of_another_machine_are_looked_at(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rig.project.mkdir(parents=True)
    mounts = rig.store.parent / "mountinfo"
    place = str(rig.home / ".claude").replace(" ", "\\040")
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n99 1 0:99 / {place} rw - {kind} host:/home rw\n", "utf-8")
    monkeypatch.setattr(watched_folders, "_MOUNTS", mounts)
    rig.begin()
    assert not rig.watched.covers(rig.log)
    assert not rig.watched.is_complete


def test_more_folders_than_the_system_may_watch_are_looked_at(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_folders, "_MOST_FOLDERS", 3)
    for number in range(4):
        (rig.project.parent / str(number)).mkdir(parents=True)
    rig.begin()
    assert not rig.watched.is_complete


def test_a_system_that_tells_nothing_has_everything_looked_at(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("no inotify here")

    monkeypatch.setattr(watched_folders, "_new_observer", fail)
    rig.project.mkdir(parents=True)
    rig.begin()
    assert not rig.watched.is_complete
    assert not rig.watched.covers(rig.log)
    rig.watched.arrange()


def test_after_a_change_that_was_not_told_everything_is_looked_at(rig: Rig) -> None:
    rig.project.mkdir(parents=True)
    rig.begin()
    rig.watched.distrust()
    rig.watched.arrange()
    assert not rig.watched.is_complete
    assert not rig.watched.covers(rig.log)


async def test_the_end_of_a_process_is_told(rig: Rig) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    told = asyncio.Event()
    rig.watched.begin(told.set)
    assert rig.watched.tells_end_of(process.pid)
    assert process.stdin is not None
    process.stdin.close()
    await asyncio.wait_for(told.wait(), PATIENCE)
    assert rig.watched.changes().is_ended
    # Nobody has asked how it ended: the system still has it, and would tell at once again.
    assert not rig.watched.tells_end_of(process.pid)
    process.wait()
    rig.watched.end()


def test_a_file_is_told_to_have_changed_when_one_did_that_is_read_with_it(rig: Rig) -> None:
    task = rig.home / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1"
    task.mkdir(parents=True)
    history = task / "api_conversation_history.json"
    history.write_text("[]")
    rig.begin()
    write(task / "notes.json")
    write(task / "ui_messages.json", "[]")
    assert rig.told().paths == {str(history)}


def test_a_write_to_a_folder_in_which_no_agent_keeps_a_conversations_own_file_has_none_listed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = rig.home / ".openhands/conversations/1"
    events, state = conversation / "events", conversation / "base_state.json"
    events.mkdir(parents=True)
    listed = list[str]()

    def list_folder(folder: str) -> list[str]:
        listed.append(folder)
        return []

    monkeypatch.setattr("os.listdir", list_folder)
    rig.begin()
    write(events / "event-1.json")
    write(conversation / "notes.json")
    write(state)
    rig.until(state)
    assert listed == [str(conversation)] * len(listed) != []
