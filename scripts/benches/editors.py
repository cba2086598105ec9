"""How soon the editors show what happened: an append on screen, and the Context view's updates."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches.report import Report, at_most, median, percentile

ROOT = Path(__file__).resolve().parents[2]
# A first run downloads the editors, seconds.
_PATIENCE = 1200.0
# A person takes what follows within a tenth of a second for immediate; the issue asks it of the status bar.
_ON_SCREEN_MS = 100.0


def run(paths: Sequence[Path]) -> Report:
    """Rows of milliseconds. Raises `CalledProcessError` when an editor could not be measured."""
    del paths
    workbench, view = _objects([ROOT / "scripts" / "e2e", "vscode"], {"ULLAGE_E2E": "measure"})
    durations: list[float] = workbench["appendToScreen"]
    rows = [_row("VS Code: append to status bar", durations), *map(_view_row, view["rows"])]
    aims = [at_most("VS Code: append to status bar, p50 ms", median(durations), _ON_SCREEN_MS)]
    aims += [at_most(f"Context view: {aim['what']}", aim["value"], aim["aim"]) for aim in view["aims"]]
    return Report(bench="editors", rows=rows, aims=aims)


def _row(what: str, durations: Sequence[float]) -> dict[str, Any]:
    return {
        "what": what,
        "runs": len(durations),
        "p50 ms": median(durations),
        "p90 ms": percentile(durations, 0.9),
        "min ms": min(durations),
        "max ms": max(durations),
    }


def _view_row(size: Mapping[str, float]) -> dict[str, Any]:
    """The page's own work for one appended message; the measurement gives only its median."""
    what = f"Context view of {size['messages']:,} messages: append"
    return {"what": what, "runs": "", "p50 ms": size["append_ms"], "p90 ms": "", "min ms": "", "max ms": ""}


def _objects(command: Sequence[str | Path], environment: Mapping[str, str]) -> list[Any]:
    """The JSON objects among a program's lines of output."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, timeout=_PATIENCE
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
