"""Measures how soon the editors show an append and a view's update, how soon a new user sees the first figure, and what
memory a window of VS Code takes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.report import Aim, Report, at_most, median, percentile
from support import neovim

ROOT = Path(__file__).resolve().parents[2]
# The oldest version that the plugin supports, and the newest.
NEOVIMS = ("0.12",)
# Seconds. A first run downloads the editors.
_PATIENCE = 1200.0
# Milliseconds. Users perceive a response within a tenth of a second as immediate.
_ON_SCREEN_MS = 100.0
# The most that an update of 10,000 messages may cost as a multiple of one of 100. The rest is noise of a loaded
# machine.
_SAME = 1.5
# Seconds from the README's first command to the first figure. A new user should see it within two minutes.
_NEWCOMER_S = 120.0
# Seconds from choosing the extension's package to the figure of an agent's conversation, with a yes in between.
_INSTALLED_S = 10.0
# Megabytes in each window, of which users have several. A tokenizer alone needs about 50.
_IDLE_MB, _SERVER_MB = 60.0, 130.0

_Part = tuple[list[dict[str, Any]], list[Aim]]


def run(paths: Sequence[Path]) -> Report:
    """Returns rows of milliseconds and seconds. Raises `CalledProcessError` if an editor could not be measured."""
    del paths
    parts = [_vscode(), *map(_neovim, NEOVIMS)]
    rows = [row for rows, _ in parts for row in rows]
    return Report(bench="editors", rows=rows, aims=[aim for _, aims in parts for aim in aims])


def _vscode() -> _Part:
    workbench, memory, view = _objects([ROOT / "scripts" / "e2e", "vscode"], {"ULLAGE_E2E": "measure"})
    build, first, followed = (workbench["newcomer"][name] for name in ("build", "firstUsage", "agentsFigure"))
    rows = [
        _row("VS Code: append to status bar", "ms", workbench["appendToScreen"]),
        _row("VS Code: append to Context view", "ms", workbench["appendToView"]),
        *(_view_row("VS Code: Context view", size["messages"], size["append_ms"]) for size in view["rows"]),
        _row("VS Code: the README's build of the .vsix", "s", [build]),
        _row("VS Code: from opening the window to the first figure", "s", [first]),
        _row("VS Code: from choosing the .vsix to the figure of an agent's conversation", "s", [followed]),
        _row("VS Code: extension host without Ullage", "MB", [memory["host"]]),
        _row("VS Code: what Ullage adds to it while it is idle", "MB", [memory["extension"]]),
        _row("VS Code: Ullage's server with a tokenizer", "MB", [memory["server"]]),
    ]
    aims = [
        at_most("VS Code: append to status bar, p50 ms", median(workbench["appendToScreen"]), _ON_SCREEN_MS),
        at_most("VS Code: append to Context view, p50 ms", median(workbench["appendToView"]), _ON_SCREEN_MS),
        *(at_most(f"VS Code: Context view: {aim['what']}", aim["value"], aim["aim"]) for aim in view["aims"]),
        at_most("VS Code: newcomer, s", build + first, _NEWCOMER_S),
        at_most("VS Code: from choosing the .vsix to the figure of an agent's conversation, s", followed, _INSTALLED_S),
        at_most("VS Code: what Ullage adds to the extension host while it is idle, MB", memory["extension"], _IDLE_MB),
        at_most("VS Code: Ullage's server with a tokenizer, MB", memory["server"], _SERVER_MB),
    ]
    return rows, aims


def _neovim(version: str) -> _Part:
    nvim, pipx = (_path(name, *options) for name, *options in (("nvim.sh", version), ("pipx.sh",)))
    name = f"Neovim {version}"
    with TemporaryDirectory() as home, TemporaryDirectory() as clean:
        measured = neovim.measure(nvim, Path(sys.executable).with_name("ullage"), Path(home))
        newcomer = neovim.newcomer(nvim, pipx, Path(clean))
    rows = [
        _row(f"{name}: append to statusline", "ms", measured.append_to_statusline_ms),
        *(_view_row(f"{name}: context buffer", int(size), cost) for size, cost in sorted(measured.update_ms.items())),
        _row(f"{name}: from the README's first command to the first figure", "s", [newcomer]),
    ]
    aims = [
        at_most(f"{name}: append to statusline, p50 ms", median(measured.append_to_statusline_ms), _ON_SCREEN_MS),
        at_most(f"{name}: context buffer: append to 10,000 messages / to 100", measured.update_ratio, _SAME),
        at_most(f"{name}: newcomer, s", newcomer, _NEWCOMER_S),
    ]
    return rows, aims


def _row(what: str, unit: str, durations: list[float]) -> dict[str, Any]:
    return {
        "what": what,
        "unit": unit,
        "runs": len(durations),
        "p50": median(durations),
        "p90": percentile(durations, 0.9),
        "min": min(durations),
        "max": max(durations),
    }


def _view_row(view: str, messages: int, cost: float) -> dict[str, Any]:
    """Returns the row for a view's own work per appended message. The measurement gives only the median."""
    what = f"{view} of {messages:,} messages: append"
    return {"what": what, "unit": "ms", "runs": "", "p50": cost, "p90": "", "min": "", "max": ""}


def _path(rig: str, *options: str) -> Path:
    """Returns the path that a script of `scripts/rigs` prints."""
    command = [ROOT / "scripts" / "rigs" / rig, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_PATIENCE)
    return Path(done.stdout.split()[-1])


def _objects(command: Sequence[str | Path], environment: Mapping[str, str]) -> list[Any]:
    """Runs a program and returns the JSON objects in its output, which has one object a line."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, timeout=_PATIENCE
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
