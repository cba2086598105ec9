"""What an attack is given, what it reports, and how faults are shown."""

import random
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from rich.console import Console


class Ground(Struct, frozen=True, kw_only=True):
    """Where an attack takes place: an empty folder, a generator of chance, and whether it may take long."""

    folder: Path
    chance: random.Random
    is_long: bool

    def times(self, short: int, long: int) -> int:
        """Returns how often to try."""
        return long if self.is_long else short


class Outcome(Struct, frozen=True, kw_only=True):
    """How often an attack was tried, what survived in words with figures, and the faults that it found."""

    tried: int
    survived: str
    faults: tuple[str, ...] = ()


def show_faults(console: Console, faults: Sequence[str], without: str) -> None:
    """Prints each fault, and that there are some; `without` if there are none."""
    for fault in faults:
        console.print(f"FAULT  {fault}", highlight=False, markup=False)
    console.print("there are faults" if faults else without)
