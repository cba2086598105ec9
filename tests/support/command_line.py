"""The program's command line, run as a real process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from support import started_program

SAMPLE = Path(__file__).resolve().parents[2] / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
# Seconds, far longer than any command takes on a loaded machine.
PATIENCE = 300


class Ended(Struct, frozen=True, kw_only=True):
    """A command's exit status and output, as bytes."""

    status: int
    out: bytes
    err: bytes


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
    ended = ullage_bytes(*arguments, env={"PYTHONUTF8": "1", **(env or {})}, stdin=stdin)
    out, err = (text.decode(errors="replace").replace("\r\n", "\n") for text in (ended.out, ended.err))
    return Ran(status=ended.status, out=out, err=err)


def ullage_bytes(
    *arguments: str | Path, env: dict[str, str] | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> Ended:
    """Runs `ullage` in the folder `cwd`. Its output is not decoded, and as wide as it needs, unless `env` says how wide
    the terminal is: pytest's processes have a width of their own."""
    command = [*map(str, arguments)], {**_inherited(), **(env or {})}, str(cwd or Path.cwd())
    if not started_program.fits(command):
        return new_process(*arguments, env=env, stdin=stdin, cwd=cwd)
    status, out, err = started_program.run(command, stdin, PATIENCE)
    return Ended(status=status, out=out, err=err)


def new_process(
    *arguments: str | Path, env: dict[str, str] | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> Ended:
    """Runs `ullage` in a process that is no copy."""
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", *map(str, arguments)],
        capture_output=True,
        input=stdin,
        timeout=PATIENCE,
        env={**_inherited(), **(env or {})},
        cwd=cwd,
        check=False,
    )
    return Ended(status=ended.returncode, out=ended.stdout, err=ended.stderr)


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
