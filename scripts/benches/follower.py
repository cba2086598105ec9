"""A process of `ullage watch --json` that a bench measures, the conversations that it follows, and what it takes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from support.session_log import JsonObject, line, say

# Seconds to wait for a row on a busy machine.
PATIENCE = 60.0
Rows = Queue[tuple[float, dict[str, Any]]]
_UNWANTED = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@contextmanager
def watch(home: Path) -> Generator[tuple[subprocess.Popen[bytes], Rows]]:
    """Runs a follower while the block runs. Yields its process and its rows, each with the time at which it came."""
    rows: Rows = Queue()
    command = [sys.executable, "-m", "ullage", "--store", str(home / "store.db"), "watch", "--json"]
    process = subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE)

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as out:
            for row in out:
                rows.put((time.perf_counter(), json.loads(row)))

    Thread(target=read, daemon=True).start()
    try:
        yield process, rows
    finally:
        process.kill()
        process.wait()


def environment(home: Path) -> dict[str, str]:
    """Returns this process's variables, of a user with another home folder. An installed program has its modules
    compiled."""
    kept = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    return {**kept, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}


def turn(number: int, words: int = 200, name: str = "", *, after_compaction: bool = False) -> list[JsonObject]:
    """Returns a prompt, which completes the answer before it, and an answer of so many words. `name` is that of the
    conversation."""
    parent = f"{name}u{number - 1}" if number else None
    if after_compaction:
        parent = f"s{number}"
    usage = {"input_tokens": used(number) - 5, "output_tokens": 5}
    prompt, answer = f"{name}u{number}", f"{name}u{number + 1}"
    common = {"sessionId": name or "s"}
    return [
        line("user", prompt, parent, f"Question {number} of {name}?", cwd="/home/user/live", **common),
        line("assistant", answer, prompt, [say("Yes. " * words)], id=answer, usage=usage, **common),
    ]


def used(number: int) -> int:
    """Returns the tokens that the answer to prompt `number` reports."""
    return 1_005 + 100 * number


def memory(pid: int, name: str) -> float:
    """Returns a figure of a process's memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
