"""A store keeps everything it acknowledged after kill -9, and processes that append at the same time lose nothing."""

import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.appender import BATCH
from support.systems import needs_signals
from ullage.model.events import MessageAppended, Record
from ullage.store import open_store

TESTS = Path(__file__).resolve().parents[1]
KILLS = 50
# Seconds. No appender that runs takes this long.
PATIENCE = 180


def start_appender(path: Path, name: str, count: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.appender", str(path), "s", name, *filter(None, [count])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS)


def kill_after(child: subprocess.Popen[str], lines: int) -> list[str]:
    """Kills the child after it has written so many lines. Returns all batches that the child acknowledged."""
    assert child.stdout is not None
    with child.stdout as stdout:
        said = [stdout.readline().strip() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        # `communicate` would skip the lines that `readline` has buffered already.
        said += stdout.read().split()
    assert child.wait(PATIENCE) == -signal.SIGKILL
    return [line for line in said if line != "starting"]


def batches_of(log: Sequence[Record]) -> list[str]:
    """Returns the names of the batches in a log. Each batch must be whole, and positions must have no gap and no
    duplicate."""
    assert [record.position for record in log] == list(range(len(log)))
    ids = [record.event.message.id for record in log if isinstance(record.event, MessageAppended)]
    names = list(dict.fromkeys(message_id.split("/")[0] for message_id in ids))
    assert ids == [f"{name}/{index}" for name in names for index in range(BATCH)]
    return names


@pytest.mark.slow
@needs_signals
def test_every_acknowledged_append_is_there_after_each_of_fifty_kills(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    moments = random.Random(20)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        acknowledged += kill_after(start_appender(path, f"child{kill}"), lines=moments.randint(1, 12))
        with open_store(path) as store:
            stored = batches_of(store.read("s")) if store.list() else []
        unacknowledged = set(stored) - set(acknowledged)
        assert [name for name in stored if name not in unacknowledged] == acknowledged
        # For each child the log may hold one append that was not acknowledged: the one during which the child was
        # killed.
        assert len({name.split("-")[0] for name in unacknowledged}) == len(unacknowledged)
    assert len(acknowledged) > KILLS


def test_processes_that_append_to_one_new_session_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    children = [start_appender(path, f"child{number}", count="15") for number in range(4)]
    for child in children:
        child.communicate(timeout=PATIENCE)
        assert child.returncode == 0
    with open_store(path) as store:
        stored = batches_of(store.read("s"))
    assert sorted(stored) == sorted(f"child{number}-{batch}" for number in range(4) for batch in range(15))
