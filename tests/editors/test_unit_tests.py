"""The editors' own unit tests, run by their own runners as part of ours."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from support.editors import EDITORS, NEOVIMS, neovim

VITEST = EDITORS / "vscode" / "node_modules" / ".bin" / "vitest"
# The server that the tests talk to is this one.
PROGRAM = Path(sys.executable).with_name("ullage")
# They take seconds; a machine that is busy with all other tests takes longer.
SECONDS = 120


def run(*command: str) -> None:
    env = {**os.environ, "ULLAGE_PROGRAM": str(PROGRAM)}
    done = subprocess.run(
        command, cwd=EDITORS / "vscode", env=env, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, f"{done.stdout[-10_000:]}\n{done.stderr[-10_000:]}"


def test_the_vs_code_extension(lacking: Callable[[str], Never]) -> None:
    if not VITEST.exists():
        lacking("vitest of editors/vscode (npm ci)")
    run(str(VITEST), "run")


@pytest.mark.parametrize("version", NEOVIMS)
def test_neovims_generated_types(version: str, lacking: Callable[[str], Never]) -> None:
    program = neovim(version)
    if program is None:
        lacking(f"Neovim {version}")
    run(str(program), "--clean", "-l", str(EDITORS / "nvim" / "tests" / "generated_types.lua"))
