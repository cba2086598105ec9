"""Measures following next to ccusage 18, on the same files in the same run: the first figures of 60 files, and a status
line. Also how fast files are read into sessions.

The files are the shared conversations of Claude Code, repeated with other ids. ccusage is installed into a temporary
folder; without npm nothing is compared.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.follower import PATIENCE, processor_seconds, watch
from benches.report import TRANSCRIPTS, Aim, at_least, at_most, median

_FILES, _SIZE = 60, 172_000_000
# Runs of either side, in turn; the fastest counts. A status line is short, so it is run more often.
_RUNS, _LINES = 2, 15
_READING = 600.0
# Bytes from which on a conversation is repeated.
_LARGE = 1_000_000
_ID = re.compile(
    rb"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:msg|req|toolu)_[0-9A-Za-z]{10,}"
)
_Part = tuple[list[dict[str, Any]], list[Aim]]
_Cost = tuple[float, float]


def measure(home: Path) -> _Part:
    """Measures all, if there are recorded conversations."""
    recorded = recorded_logs()
    if not recorded:
        return [], []
    logs = make_logs(home, recorded)
    with TemporaryDirectory(prefix="ullage-rival-") as folder:
        rival = _install(Path(folder))
        first, whole = _first_pass(home, logs, rival)
        lines = _status_lines(home, logs[0], rival)
    return first[0] + lines[0] + whole[0], first[1] + lines[1] + whole[1]


def recorded_logs() -> list[Path]:
    """Returns the large conversations that were recorded; none where they are not shared."""
    return sorted(path for path in TRANSCRIPTS.glob("claude_code_*/**/*.jsonl") if path.stat().st_size >= _LARGE)


def make_logs(home: Path, recorded: Sequence[Path]) -> list[Path]:
    """Makes the files. Each is a whole conversation, and the same again with other ids, as far as there is room."""
    made: list[Path] = []
    for number in range(_FILES):
        source = recorded[number % len(recorded)].read_bytes().rstrip() + b"\n"
        name = sha256(str(number).encode()).hexdigest()[:8] + f"-0000-4000-8000-{number:012d}"
        log = home / ".claude" / "projects" / f"-home-user-project{number % 12}" / f"{name}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        copies = max(1, round(_SIZE / _FILES / len(source)))
        log.write_bytes(b"".join(_with_other_ids(source, f"{number}/{copy}") for copy in range(copies)))
        made.append(log)
    return made


def _with_other_ids(data: bytes, salt: str) -> bytes:
    def other(found: re.Match[bytes]) -> bytes:
        known = found.group()
        digits = sha256(salt.encode() + known).hexdigest()
        if b"_" in known:
            return known[: known.index(b"_") + 1] + digits[:24].encode()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])).encode()

    return _ID.sub(other, data)


def _install(folder: Path) -> list[str]:
    """Installs ccusage. Returns the words that run it, or an empty list."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        return []
    words = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), "ccusage@18"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        return []
    return [node, str(folder / "node_modules" / "ccusage" / "dist" / "index.js")]


def _first_pass(home: Path, logs: Sequence[Path], rival: Sequence[str]) -> tuple[_Part, _Part]:
    """Measures the time until every conversation has been shown with a figure, and then until all are read."""
    size = sum(log.stat().st_size for log in logs) / 1e6
    ours, theirs, read = list[_Cost](), list[_Cost](), list[_Cost]()
    for _ in range(_RUNS):
        shown, whole = _follow(home, logs)
        ours.append(shown)
        read.append(whole)
        if rival:
            theirs.append(_run(home, [*rival, "session", "--json", "--offline"]))
    (wall, cpu), (read_s, read_cpu) = min(ours), min(read)
    row = {"what": f"first figures of {len(logs)} files, {size:.0f} MB", "ullage_s": wall, "ullage_processor_s": cpu}
    aims: list[Aim] = []
    if theirs:
        row |= {"ccusage_s": min(theirs)[0], "ccusage_processor_s": min(theirs)[1]}
        aims.append(at_most("first figures of many files, of ccusage's time", wall / min(theirs)[0], 1))
    speed = size / read_cpu
    reading = {"what": "read into sessions", "mb": size, "s": read_s, "processor_s": read_cpu, "mb_per_core_s": speed}
    return ([row], aims), ([reading], [at_least("read into sessions, MB per second of a core", speed, 20)])


def _follow(home: Path, logs: Sequence[Path]) -> tuple[_Cost, _Cost]:
    """Follows the files into a new store. Returns the seconds, and those of a processor, until all were shown, and
    until all were read."""
    for file in home.glob("store.db*"):
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()
    for log in logs:
        os.utime(log)
    shown, whole = set[str](), set[str]()
    costs = list[_Cost]()
    start = time.perf_counter()
    with watch(home) as (process, rows):
        while len(whole) < len(logs):
            seen, row = rows.get(timeout=_READING if shown else PATIENCE)
            shown.add(row["path"])
            if row["messages"] is not None:
                whole.add(row["path"])
            if len(shown) == len(logs) and not costs:
                costs.append((seen - start, processor_seconds(process.pid)))
        return costs[0], (time.perf_counter() - start, processor_seconds(process.pid))


def _status_lines(home: Path, log: Path, rival: Sequence[str]) -> _Part:
    """Measures a status line of Claude Code for one of the files."""
    given = {
        "session_id": log.stem,
        "transcript_path": str(log),
        "cwd": "/home/user",
        "workspace": {"current_dir": "/home/user", "project_dir": "/home/user"},
        "model": {"id": "claude-opus-4-5", "display_name": "Opus"},
        "version": "2.1.0",
        "cost": {"total_cost_usd": 1.0, "total_duration_ms": 1, "total_api_duration_ms": 1},
    }
    # Agents' settings name the installed program, if there is one. `-m` imports more modules than the line needs.
    installed = Path(sys.executable).with_name("ullage")
    words = [str(installed)] if installed.is_file() else [sys.executable, "-m", "ullage"]
    statusline = [*words, "statusline", "--store", str(home / "store.db")]
    data, ours, theirs = json.dumps(given).encode(), list[_Cost](), list[_Cost]()
    for _ in range(_LINES):
        ours.append(_run(home, statusline, data))
        if rival:
            theirs.append(_run(home, [*rival, "statusline", "--offline"], data))
    wall = median(one for one, _ in ours)
    row = {
        "what": "status line",
        "ullage_ms": 1000 * wall,
        "ullage_processor_ms": 1000 * median(two for _, two in ours),
    }
    aims = [at_most("status line, ms", 1000 * wall, 50)]
    if theirs:
        other = median(one for one, _ in theirs)
        row |= {"ccusage_ms": 1000 * other, "ccusage_processor_ms": 1000 * median(two for _, two in theirs)}
        aims.append(at_most("status line, of ccusage's time", wall / other, 1))
    return [row], aims


def _run(home: Path, words: Sequence[str], data: bytes = b"") -> _Cost:
    """Runs a program to its end. Returns the seconds that it took, and those of a processor."""
    environment = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, input=data, env=environment, check=True, capture_output=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
