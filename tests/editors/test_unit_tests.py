"""The editors' own unit tests, run by their own runners as part of ours."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Never

EDITORS = Path(__file__).resolve().parents[2] / "editors"
VITEST = EDITORS / "vscode" / "node_modules" / ".bin" / "vitest"
# They take seconds; a machine that is busy with all other tests takes longer.
SECONDS = 120


def run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, f"{done.stdout[-10_000:]}\n{done.stderr[-10_000:]}"


def test_the_vs_code_extension(lacking: Callable[[str], Never]) -> None:
    if not VITEST.exists():
        lacking("vitest of editors/vscode (npm ci)")
    run([str(VITEST), "run"], EDITORS / "vscode")
