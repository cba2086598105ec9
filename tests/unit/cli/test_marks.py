"""A compaction is seen in an agent's file: its last summary is another one."""

import io
import json
from pathlib import Path

import pytest

from ullage.cli.hooks import hook_state
from ullage.cli.hooks.hook_state import HookState, has_new_mark

MARK = "<state_snapshot>"


class Log:
    """An agent's file, and what is kept of it for a session."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "session.jsonl"
        self.path.write_text("")
        self._store = str(folder / "sessions.db")

    def add(self, text: str, **facts: object) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"content": [{"text": text}], **facts}, ensure_ascii=False) + "\n")

    @property
    def is_new(self) -> bool:
        return has_new_mark(HookState(self._store, "s1"), str(self.path), MARK)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_a_file_without_a_summary_has_no_mark(log: Log) -> None:
    assert not log.is_new
    log.add(f"What does {MARK} mean?")
    assert not log.is_new


@pytest.mark.parametrize("text", ["a", 'with "quotes" and \\', "x" * 5_000, "Überschuss\n" * 40, '\\"' * 1_500])
def test_a_summary_is_new_once_also_when_the_agent_writes_it_again(log: Log, text: str) -> None:
    log.add(f"{MARK}{text}", id=1)
    assert log.is_new
    assert not log.is_new
    log.add("another message", id=2)
    log.add(f"{MARK}{text}", id=3, timestamp="later")
    assert not log.is_new


def test_of_a_file_that_has_grown_only_the_new_lines_are_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.add("x" * 1_000_000)
    assert not log.is_new
    read: list[int] = []

    class Counted(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size) or b""
            read.append(len(data))
            return data

    monkeypatch.setattr(hook_state, "open", Counted, raising=False)
    # The agent is in the midst of writing this line.
    with log.path.open("a") as file:
        file.write(f'{{"content": [{{"text": "{MARK}the')
    assert not log.is_new
    with log.path.open("a") as file:
        file.write(' port"}]}\n')
    assert log.is_new
    assert not log.is_new
    log.add(f"{MARK}the host")
    assert log.is_new
    assert sum(read) < 3_000


@pytest.mark.parametrize("longer", [0, 5_000])
def test_a_file_that_the_agent_has_written_anew_is_read_as_a_whole(log: Log, longer: int) -> None:
    log.add("before" * 50)
    log.add("after")
    assert not log.is_new
    log.path.write_text("")
    log.add(f"{MARK}the port")
    log.add("y" * longer)
    assert log.is_new
    assert not log.is_new


def test_another_summary_is_new(log: Log) -> None:
    for text in ("the port", "the port and the host", "the port"):
        log.add(f"{MARK}{text}")
        assert log.is_new
