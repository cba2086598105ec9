"""Measures how soon `ullage mcp` answers after its start, and what it takes: an agent starts a server in each session,
and waits for it before its first request.

A start is measured from the process' start to the answer to `tools/list`. Each start alternates with one of Python that
answers two lines and imports nothing, so that both have the same load of the machine. The aims hold on an idle machine;
the ratios to bare Python say the same on a busy one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from benches.follower import memory as peak
from benches.report import Aim, Report, at_most, median

_STARTS = 15
# Milliseconds and MB of an answered start.
_SOON, _SMALL = 150, 40
_HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "b", "version": "1"},
}
_BARE = "import sys\nfor _ in range(2):\n    sys.stdin.readline()\n    print(flush=True)\nsys.stdin.read()"


class _Start(Struct, frozen=True, kw_only=True):
    """One start: seconds until the last answer, seconds of processor time until the end, and the most MB of memory."""

    wall: float
    processor: float
    memory: float


def run(_paths: Sequence[Path]) -> Report:
    """Starts the server and bare Python in turn."""
    with tempfile.TemporaryDirectory() as folder:
        served = [sys.executable, "-m", "ullage", "mcp", "--store", f"{folder}/sessions.db"]
        bare = [sys.executable, "-c", _BARE]
        # The first start of each compiles and caches.
        pairs = [(_started(served, folder), _started(bare, folder)) for _ in range(_STARTS + 1)][1:]
    rows = [_row("ullage mcp", [pair[0] for pair in pairs]), _row("bare Python", [pair[1] for pair in pairs])]
    load = ", ".join(f"{share:.1f}" for share in os.getloadavg())
    own, other = rows
    ratios = {name: own[name] / other[name] for name in ("wall ms", "processor ms", "memory MB")}
    rows.append({"program": f"ratio (load {load})", **ratios})
    aims: list[Aim] = [
        at_most("milliseconds until tools/list is answered", own["wall ms"], _SOON),
        at_most("milliseconds of processor time", own["processor ms"], _SOON),
        at_most("MB of memory at most", own["memory MB"], _SMALL),
    ]
    return Report(bench="mcp", rows=rows, aims=aims)


def _row(program: str, starts: Sequence[_Start]) -> dict[str, Any]:
    return {
        "program": program,
        "wall ms": 1000 * median(start.wall for start in starts),
        "processor ms": 1000 * median(start.processor for start in starts),
        "memory MB": median(start.memory for start in starts),
    }


def _started(command: Sequence[str], folder: str) -> _Start:
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, method in enumerate(("initialize", "tools/list")):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {} if number else _HELLO}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()
        wall = time.perf_counter() - began
        memory = peak(process.pid, "VmHWM")
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return _Start(wall=wall, processor=used.ru_utime + used.ru_stime, memory=memory)
