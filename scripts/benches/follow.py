"""Measures following: how long a record takes from an agent's file to the screen, what an idle follower costs, and the
list of all conversations.

A process of `ullage watch --json` follows made-up homes: with a thousand quiet conversations and one that continues,
and with one file of 200 MB, which it follows again after a restart. `ullage --all` lists three thousand conversations,
cold and again.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.follower import PATIENCE, Rows, environment, memory, processor_seconds, turn, used, watch
from benches.report import Part, Report, at_most, percentile, report_of
from support.log_trees import to_bytes
from support.session_log import JsonObject, boundary, summary

_QUIET = 1_000
_RECORDS = 200
# Conversations that are listed at once.
_ALL = 3_000
# How many of them have changed in the last hour where the idle follower looks at many, and the seconds since then.
_LATELY, _AGE = 300, 600.0
# Bytes of a large conversation's file.
_LARGE = 200 << 20
# Messages of a large conversation from one compaction to the next, and the megabytes in which it is read.
_COMPACTED, _LARGE_MEMORY = 100, 300
# Seconds before the follower is taken as idle, and for which its processor time is measured then.
_REST, _IDLE = 20.0, 20.0


def run(_: Sequence[Path]) -> Report:
    """Runs the bench. The paths are not used: it follows files that it makes."""
    return report_of("follow", [_measure(measure) for measure in (_one, _idle, _large, _scan)])


def _measure(part: Callable[[Path], Part]) -> Part:
    with TemporaryDirectory(prefix="ullage-follow-") as folder:
        return part(Path(folder))


def _one(home: Path) -> Part:
    """Measures one conversation that continues among many quiet ones."""
    log = _make_home(home)
    # The first start of an installation compiles the modules.
    _first_figure(home)
    (home / "store.db").unlink()
    first, again = _first_figure(home), _first_figure(home)
    with watch(home) as (_, rows):
        rows.get(timeout=PATIENCE)
        delays = [_delay(log, rows, number) for number in range(2, 2 + 2 * _RECORDS, 2)]
    p50, p95 = (1000 * percentile(delays, at) for at in (0.5, 0.95))
    return [
        {"what": "append to a printed row", "p50_ms": p50, "p95_ms": p95},
        {"what": "start to the first figure", "first_ms": 1000 * first, "again_ms": 1000 * again},
    ], [
        at_most("append to a printed row, p95 ms", p95, 150),
        at_most("start to the first figure, s", max(first, again), 1),
    ]


def _first_figure(home: Path) -> float:
    """Returns the seconds from the start of a follower to its first row."""
    start = time.perf_counter()
    with watch(home) as (_, rows):
        return rows.get(timeout=PATIENCE)[0] - start


def _large(home: Path) -> Part:
    """Measures a large file, of a conversation that was compacted many times: from the start to the first figure, from
    an append to its row while the file is read and afterwards, and the most memory that reading it took."""
    log = home / ".claude" / "projects" / "-home-user-live" / "99999999-0000-0000-0000-000000000000.jsonl"
    log.parent.mkdir(parents=True)
    number = 0
    with log.open("wb") as file:
        while file.tell() < _LARGE:
            is_due = number > 0 and number % _COMPACTED == 0
            file.write(to_bytes(_compaction(number) if is_due else []))
            file.write(to_bytes(turn(number, 2_000, after_compaction=is_due)))
            number += 2
    size, starts = f"a file of {_LARGE >> 20} MB", list[dict[str, Any]]()
    for when in ("first", "again"):
        start = time.perf_counter()
        with watch(home) as (process, rows):
            first = rows.get(timeout=PATIENCE)[0] - start
            behind = [_delay(log, rows, at) for at in range(number, number + 10, 2)]
            number += 10
            # The first row with a number of messages is that of a turn which was written while the file was read.
            while (seen := _row_of(log, rows, number))[1]["messages"] is None:
                number += 2
            delays = [_delay(log, rows, at) for at in range(number + 2, number + 22, 2)]
            most = memory(process.pid, "VmHWM")
        number += 22
        starts.append(
            {
                "what": f"{size}, {when}",
                "first_ms": 1000 * first,
                "behind_p95_ms": 1000 * percentile(behind, 0.95),
                "read_s": seen[0] - start,
                "p95_ms": 1000 * percentile(delays, 0.95),
                "memory_mb": most,
            }
        )
    return starts, [
        at_most(f"{size}: start to the first figure, ms", max(one["first_ms"] for one in starts), 1_000),
        at_most(f"{size}: memory, MB", max(one["memory_mb"] for one in starts), _LARGE_MEMORY),
    ]


def _compaction(number: int) -> list[JsonObject]:
    """Returns the lines of a compaction after the first `number` messages."""
    before = f"u{number - 1}"
    return [
        boundary(f"b{number}", before, trigger="auto", preTokens=1_000 + 100 * number),
        summary(f"s{number}", f"b{number}", f"All {number} questions so far were answered: yes."),
    ]


def _idle(home: Path) -> Part:
    """Measures what an idle follower costs if many conversations of the last hour are among those that it knows."""
    _make_quiet(home, _QUIET, _LATELY)
    with watch(home) as (process, rows):
        known = set[str]()
        while len(known) < _LATELY:
            known.add(rows.get(timeout=PATIENCE)[1]["path"])
        # Until all are in the archive.
        time.sleep(_REST)
        share = _processor_share(process.pid)
    what = f"idle with {_LATELY} conversations of the last hour and {_QUIET - _LATELY} older ones"
    return [{"what": what, "processor_percent": 100 * share}], [at_most(f"{what}: share of a processor", share, 0.005)]


def _make_quiet(home: Path, count: int, lately: int = 0) -> None:
    """Makes conversations that do not continue: so many of the last hour, the others of the day before."""
    folder, now = home / ".claude" / "projects", time.time()
    for number in range(count):
        path = folder / f"-home-user-project{number % 50}" / f"{number:08d}-0000-0000-0000-000000000000.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(to_bytes(turn(0, name=path.stem)))
        changed = now - (_AGE if number < lately else 86_400)
        os.utime(path, (changed, changed))


def _scan(home: Path) -> Part:
    """Measures the list of all conversations, for the first time and again when nothing has changed, without the start
    of the program."""
    ours = [sys.executable, "-m", "ullage", "--all", "--json", "--store", str(home / "store.db")]
    # The first start compiles.
    begin = [_used(home, ours) for _ in range(2)][-1]
    _make_quiet(home, _ALL)
    cold, again = (_used(home, ours) - begin for _ in range(2))
    what = f"list {_ALL:,} conversations"
    row = {"what": what, "cold_ms": 1000 * cold, "again_ms": 1000 * again}
    aims = [at_most(f"{what}: ms of processor, cold", 1000 * cold, 600)]
    return [row], [*aims, at_most(f"{what}: ms of processor, again", 1000 * again, 100)]


def _used(home: Path, words: Sequence[str]) -> float:
    """Runs a program. Returns the seconds of processor time that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=home, env=environment(home), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _make_home(home: Path) -> Path:
    """Makes the conversations. Returns the file of the one that continues."""
    _make_quiet(home, _QUIET)
    folder = home / ".claude" / "projects"
    log = folder / "-home-user-live" / "99999999-0000-0000-0000-000000000000.jsonl"
    log.parent.mkdir()
    log.write_bytes(to_bytes(turn(0)))
    return log


def _delay(log: Path, rows: Rows, number: int) -> float:
    """Returns the seconds from writing a turn to the row with its prompt."""
    written = time.perf_counter()
    return _row_of(log, rows, number)[0] - written


def _row_of(log: Path, rows: Rows, number: int) -> tuple[float, dict[str, Any]]:
    """Writes a turn. Returns the first row with its prompt, and the time at which the row came."""
    with log.open("ab") as file:
        file.write(to_bytes(turn(number)))
    while True:
        seen, row = rows.get(timeout=PATIENCE)
        # While a large file is read, the number of its messages is not known.
        if row["messages"] > number if row["messages"] is not None else row["used"] >= used(number):
            return seen, row


def _processor_share(pid: int) -> float:
    """Returns the share of a processor that the process takes while nothing changes."""
    before = processor_seconds(pid)
    time.sleep(_IDLE)
    return (processor_seconds(pid) - before) / _IDLE
