"""Measures what a follower does when it starts again and some of many large conversations have grown meanwhile."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.follow_rivals import make_logs, recorded_logs
from benches.follower import processor_seconds, turn, watch
from benches.report import Aim, at_most
from support.log_trees import to_bytes

# Conversations that grow while no follower runs, and seconds in which a follower reads all of them.
_GROWN, _READING = 10, 900.0
# Seconds for which files are quiet until what was read of them is noted for the next process.
_NOTED = 15.0
# By which the row of a conversation that has grown is known.
_TITLE = "Grown meanwhile"


def measure(home: Path) -> tuple[list[dict[str, Any]], list[Aim]]:
    """Follows copies of recorded conversations until all are read, and starts again after some have got another turn.
    The restart's processor time is compared with that of the first start."""
    recorded = recorded_logs()
    if not recorded:
        return [], []
    logs = make_logs(home, recorded)
    size, grown = sum(log.stat().st_size for log in logs) / 1e6, logs[:: len(logs) // _GROWN][:_GROWN]
    read_s, read_cpu = _follow(home, logs, 0)
    for log in grown:
        _grow(log)
    grown_s, grown_cpu = _follow(home, grown, 1)
    return [
        {
            "what": f"restart with {len(logs)} files, {size:.0f} MB, of which {_GROWN} have grown",
            "grown_mb": sum(log.stat().st_size for log in grown) / 1e6,
            "read_s": read_s,
            "read_processor_s": read_cpu,
            "again_s": grown_s,
            "again_processor_s": grown_cpu,
        }
    ], [at_most("restart after some have grown: processor time, of that of reading", grown_cpu / read_cpu, 0.1)]


def _follow(home: Path, logs: Sequence[Path], turns: int) -> tuple[float, float]:
    """Follows until each of the files was read, or shows its new turn. Returns the seconds, and those of a
    processor."""
    open_logs, start = {str(log) for log in logs}, time.perf_counter()
    with watch(home) as (process, rows):
        while open_logs:
            _, row = rows.get(timeout=_READING)
            if row["messages"] is not None and (not turns or row["title"] == _TITLE):
                open_logs.discard(row["path"])
        seconds, used = time.perf_counter() - start, processor_seconds(process.pid)
        time.sleep(0 if turns else _NOTED)
    return seconds, used


def _grow(log: Path) -> None:
    """Adds a turn and a title."""
    last = next(
        value["uuid"] for text in reversed(log.read_bytes().splitlines()) if "uuid" in (value := json.loads(text))
    )
    prompt, answer = turn(0, name=log.stem)
    title = {"type": "custom-title", "customTitle": _TITLE, "sessionId": log.stem}
    with log.open("ab") as file:
        file.write(to_bytes([prompt | {"parentUuid": last}, answer, title]))
