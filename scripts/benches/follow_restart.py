"""Measures what a follower does when it starts again and nothing has changed meanwhile."""

import os
import time
from pathlib import Path
from typing import Any

from benches.follower import PATIENCE, processor_seconds, turn, watch
from benches.report import Aim, at_most
from support.log_trees import to_bytes

# Conversations of the last hour with ten turns each, and one with a file of so many bytes.
_SESSIONS, _TURNS, _LARGE = 1_000, 10, 200 << 20
# Seconds: the files are older than what is looked at ten times a second. A server looks at those of the last hour.
_AGE = 600.0
# Seconds in which a follower has read all files, and for which its processor time is measured after the restart.
_READING, _MEASURED = 900.0, 30.0


def measure(home: Path) -> tuple[list[dict[str, Any]], list[Aim]]:
    """Follows conversations until all are read, and starts again. The time of the restart is compared with that of the
    first start."""
    files = _make(home)
    read_s, read_cpu, _ = _start(home, files)
    first_s, again_cpu, shown = _start(home, 0)
    return [
        {
            "what": f"restart with {_SESSIONS:,} conversations and a file of {_LARGE >> 20} MB",
            "read_s": read_s,
            "read_processor_s": read_cpu,
            "first_ms": 1000 * first_s,
            "processor_s": again_cpu,
            "shown": shown,
        }
    ], [
        at_most("restart without a change: first figure, s", first_s, 1),
        at_most("restart without a change: processor time, of that of reading", again_cpu / read_cpu, 0.1),
    ]


def _start(home: Path, files: int) -> tuple[float, float, int]:
    """Runs a follower until it has read so many files, or for some time after the first row if `files` is 0. Returns
    the seconds until then, or until the first row; the seconds of a processor; and how many conversations it showed."""
    start, known = time.perf_counter(), set[str]()
    with watch(home) as (process, rows):
        while files and len(known) < files:
            _, row = rows.get(timeout=_READING)
            if row["messages"] is not None:
                known.add(row["path"])
        if files:
            seconds = time.perf_counter() - start
            used = processor_seconds(process.pid)
            # What was read is noted when the files have been quiet for a while.
            time.sleep(_MEASURED / 2)
            return seconds, used, len(known)
        seen, row = rows.get(timeout=PATIENCE)
        time.sleep(_MEASURED)
        while not rows.empty():
            known.add(rows.get()[1]["path"])
        return seen - start, processor_seconds(process.pid), len(known | {row["path"]})


def _make(home: Path) -> int:
    """Makes the conversations. Returns how many there are."""
    folder, old = home / ".claude" / "projects", time.time() - _AGE
    for number in range(_SESSIONS + 1):
        log = folder / f"-home-user-project{number % 50}" / f"{number:08d}-0000-0000-0000-000000000000.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        is_large = number == _SESSIONS
        with log.open("wb") as file:
            at = 0
            while file.tell() < _LARGE if is_large else at < 2 * _TURNS:
                file.write(to_bytes(turn(at, 2_000 if is_large else 200, name=log.stem)))
                at += 2
        os.utime(log, (old, old))
    return _SESSIONS + 1
