"""The program's command line, run as a real process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

SAMPLE = Path(__file__).resolve().parents[2] / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
# Seconds, far longer than any command takes on a loaded machine.
PATIENCE = 120


class Ran(Struct, frozen=True, kw_only=True):
    """A command's exit status and output."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON object."""
        return msgspec.json.decode(self.out)


def ullage(*arguments: str | Path, env: dict[str, str] | None = None, stdin: bytes = b"") -> Ran:
    """Runs `ullage` with these arguments and input, in UTF-8 and without a terminal."""
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", *map(str, arguments)],
        capture_output=True,
        input=stdin.decode(),
        encoding="utf-8",
        errors="replace",
        timeout=PATIENCE,
        env={**os.environ, "PYTHONUTF8": "1", **(env or {})},
        check=False,
    )
    return Ran(status=ended.returncode, out=ended.stdout, err=ended.stderr)
