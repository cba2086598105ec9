"""Measures how soon `ullage mcp` answers after its start, and what it takes: an agent starts a server in each session,
and waits for it before its first request.

A start is measured from the process' start to the answer to `tools/list`. The aims hold on an idle machine.
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
from benches.report import Report, at_most, median

_STARTS = 15
# Milliseconds and MB of an answered start.
_SOON, _SMALL = 150, 40
_HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "b", "version": "1"},
}


class _Start(Struct, frozen=True, kw_only=True):
    """One start: seconds until the last answer, seconds of processor time until the end, and the most MB of memory."""

    wall: float
    processor: float
    memory: float


def run(_paths: Sequence[Path]) -> Report:
    """Starts the server again and again. The first start compiles and caches."""
    with tempfile.TemporaryDirectory() as folder:
        served = [sys.executable, "-m", "ullage", "mcp", "--store", f"{folder}/sessions.db"]
        starts = [_started(served, folder) for _ in range(_STARTS + 1)][1:]
    row = {
        "wall ms": 1000 * median(start.wall for start in starts),
        "processor ms": 1000 * median(start.processor for start in starts),
        "memory MB": median(start.memory for start in starts),
    }
    aims = [
        at_most("milliseconds until tools/list is answered", row["wall ms"], _SOON),
        at_most("milliseconds of processor time", row["processor ms"], _SOON),
        at_most("MB of memory at most", row["memory MB"], _SMALL),
    ]
    return Report(bench="mcp", rows=[row], aims=aims)


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
