"""Where the editors' folders are, and the real Neovims that the tests run them in."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
# The oldest that the plugin runs on and the newest; `scripts/rigs/nvim.sh` gets both.
NEOVIMS = ("0.10", "0.12")


@cache
def neovim(version: str) -> Path | None:
    """The program: the tests' own, or the machine's if it is of that version."""
    rigs = Path(os.environ.get("ULLAGE_RIGS", ROOT / ".rigs"))
    own = rigs / f"nvim-{version}" / "bin" / "nvim"
    if own.exists():
        return own
    found = shutil.which("nvim")
    return Path(found) if found and _version(found) == version else None


def _version(program: str) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout
    match = re.match(r"NVIM v(\d+\.\d+)", shown)
    return match[1] if match else ""
