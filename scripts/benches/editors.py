"""Measures how soon the editors show an append and a view's update, how soon a new user sees the first figure, and what
memory a window of VS Code takes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benches.report import Report, at_most, median, percentile
from support import neovim

ROOT = Path(__file__).resolve().parents[2]
NEOVIM = "0.12"
# Seconds. A first run downloads the editors.
_PATIENCE = 1200.0


class _Figure(NamedTuple):
    """What was measured, with the most that its median may be: a tenth of a second is perceived as immediate, a new
    user should see a figure within two minutes of the README's first command, a window may have 60 MB of ours."""

    what: str
    values: Sequence[float]
    most: float | None = None


def run(_: Sequence[Path]) -> Report:
    """Returns a row of each figure. Raises `CalledProcessError` if an editor could not be measured."""
    figures = [*_vscode(), *_neovim()]
    rows = [
        {"what": one.what, "runs": len(one.values), "p50": median(one.values), "p90": percentile(one.values, 0.9)}
        for one in figures
    ]
    aims = [at_most(one.what, median(one.values), one.most) for one in figures if one.most is not None]
    return Report(bench="editors", rows=rows, aims=aims)


def _vscode() -> Iterator[_Figure]:
    measuring = {**os.environ, "ULLAGE_E2E": "measure"}
    printed = _printed([ROOT / "scripts" / "e2e", "vscode"], measuring).splitlines()
    workbench, memory, view = (json.loads(line) for line in printed if line.startswith("{"))
    newcomer: dict[str, Any] = workbench["newcomer"]
    yield _Figure("VS Code: append to status bar, ms", workbench["appendToScreen"], 100)
    yield _Figure("VS Code: append to Context view, ms", workbench["appendToView"], 100)
    for size in view["rows"]:
        yield _Figure(f"VS Code: Context view of {size['messages']:,} messages: append, ms", [size["append_ms"]])
    for aim in view["aims"]:
        yield _Figure(f"VS Code: Context view: {aim['what']}", [aim["value"]], aim["aim"])
    yield _Figure(
        "VS Code: the README's build and the first figure, s", [newcomer["build"] + newcomer["firstUsage"]], 120
    )
    yield _Figure("VS Code: from the .vsix to an agent's figure, s", [newcomer["agentsFigure"]], 10)
    yield _Figure("VS Code: extension host without Ullage, MB", [memory["host"]])
    yield _Figure("VS Code: what Ullage adds to it while it is idle, MB", [memory["extension"]], 60)
    yield _Figure("VS Code: Ullage's server with a tokenizer, MB", [memory["server"]], 130)


def _neovim() -> Iterator[_Figure]:
    nvim, pipx = (_printed([ROOT / "scripts" / "rigs" / rig, *more]).split()[-1] for rig, *more in _RIGS)
    with TemporaryDirectory() as home, TemporaryDirectory() as clean:
        measured = neovim.measure(Path(nvim), Path(sys.executable).with_name("ullage"), Path(home))
        newcomer = neovim.newcomer(Path(nvim), Path(pipx), Path(clean))
    yield _Figure("Neovim: append to statusline, ms", measured.append_to_statusline_ms, 100)
    for size, cost in sorted(measured.update_ms.items()):
        yield _Figure(f"Neovim: context buffer of {int(size):,} messages: append, ms", [cost])
    # The rest is noise of a loaded machine.
    yield _Figure("Neovim: context buffer: append to 10,000 messages / to 100", [measured.update_ratio], 1.5)
    yield _Figure("Neovim: from the README's first command to the first figure, s", [newcomer], 120)


_RIGS = (("nvim.sh", NEOVIM), ("pipx.sh",))


def _printed(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=_PATIENCE)
    return done.stdout
