"""Where the editors' folders are, and the real Neovims that the tests run them in."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from benches.neovim import PLUGINS, RIGS, environment

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
# The server that the editors' tests talk to is this checkout's.
SERVER = Path(sys.executable).with_name("ullage")
# The oldest that the plugin runs on and the newest; `scripts/rigs/nvim.sh` gets both.
NEOVIMS = ("0.10", "0.12")


def neovim_environment(home: Path) -> dict[str, str]:
    """What the plugin's Lua tests need: an editor's own folders, the server of this checkout, mini.test and lualine."""
    return environment(home, SERVER)


def has_neovim_plugins() -> bool:
    """Whether mini.test is there, which runs the plugin's Lua tests."""
    return (PLUGINS / "neovim-mini.test").exists()


@cache
def neovim(version: str) -> Path | None:
    """The program: the tests' own, or the machine's if it is of that version."""
    own = RIGS / f"nvim-{version}" / "bin" / "nvim"
    if own.exists():
        return own
    found = shutil.which("nvim")
    return Path(found) if found and _version(found) == version else None


def _version(program: str) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout
    match = re.match(r"NVIM v(\d+\.\d+)", shown)
    return match[1] if match else ""
