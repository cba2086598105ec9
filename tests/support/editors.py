"""The editors' folders, and the real Neovims in which the tests run them."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from support import started_program
from support.neovim import PLUGINS, RIGS, environment

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
# The editors' tests use the server of this checkout.
SERVER = Path(sys.executable).with_name("ullage")
# The versions that `scripts/rigs/nvim.sh` installs: the oldest that the plugin supports, and the newest.
NEOVIMS = ("0.11", "0.12")
# For a test of the plugin with the rest of Ullage: `--all` runs it in the newest alone. In the oldest it runs what
# Neovim itself can break, the plugin's own tests and the story of its server.
STORY_NEOVIMS = (pytest.param(NEOVIMS[0], marks=pytest.mark.long), NEOVIMS[1])


def neovim_environment(home: Path) -> dict[str, str]:
    """Returns the environment of the plugin's Lua tests: own folders, a copy of this checkout's server, mini.test and
    lualine."""
    return environment(home, started_program.program(home))


def has_neovim_plugins() -> bool:
    """Whether mini.test is installed, which runs the plugin's Lua tests."""
    return (PLUGINS / "neovim-mini.test").exists()


@cache
def neovim(version: str) -> Path | None:
    """Returns the program: the tests' own, or the machine's if it has that version. Returns None without either."""
    own = RIGS / f"nvim-{version}" / "bin" / "nvim"
    if own.exists():
        return own
    found = shutil.which("nvim")
    return Path(found) if found and _version(found) == version else None


def _version(program: str) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=120).stdout
    match = re.match(r"NVIM v(\d+\.\d+)", shown)
    return match[1] if match else ""
