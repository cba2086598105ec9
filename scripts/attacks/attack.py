"""What an attack is given, what it reports, how faults are shown, and how Ullage is run as a user's program."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

# Seconds that a program may take. Most take one or two.
PATIENCE = 300
# Variables that would lead to other settings than those of a home folder, or to other modules.
_LEFT_OUT = ("ULLAGE", "CLAUDE", "CODEX", "GEMINI", "QWEN", "XDG", "PYTHON")


class Ground(Struct, frozen=True, kw_only=True):
    """Where an attack takes place: an empty folder, a generator of chance made of the seed, whether it may take long,
    and of an attack with numbered tries the only one that is wanted."""

    folder: Path
    chance: random.Random
    is_long: bool = False
    seed: int = 1
    only: int | None = None

    def times(self, short: int, long: int) -> int:
        """Returns how often to try."""
        return long if self.is_long else short

    def numbers(self, short: int, long: int) -> range:
        """Returns the numbers of the tries."""
        return range(self.times(short, long)) if self.only is None else range(self.only, self.only + 1)


class Outcome(Struct, frozen=True, kw_only=True):
    """How often an attack was tried, what survived in words with figures, and the faults that it found."""

    tried: int
    survived: str
    faults: tuple[str, ...] = ()


def environment(home: Path) -> dict[str, str]:
    """Returns this process's variables, of a user with another home folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}


def ullage(home: Path, words: Sequence[str], cwd: Path, given: str = "") -> subprocess.CompletedProcess[bytes]:
    """Runs a command of Ullage's in a folder. `given` is its input."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "ullage", *words],
        cwd=cwd,
        env=environment(home),
        input=given.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
