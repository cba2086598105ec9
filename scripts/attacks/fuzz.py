"""Sends 100,000 wrong frames to each door and prints a table of the answers: `./scripts/fuzz`.

Exit status 1 if a frame got a wrong answer. The frames are named in the output; the same seed and `--only` send one
again.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from attacks.attack import show_faults
from attacks.fuzzing import Fuzzed, fuzz
from attacks.open_doors import DOORS


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--door", choices=list(DOORS), help="one door alone")
    parser.add_argument("--only", type=int, help="the one frame of that number")
    given = parser.parse_args()
    # Every frame is wrong, and each would be logged.
    logging.disable(logging.WARNING)
    numbers = range(given.frames) if given.only is None else range(given.only, given.only + 1)
    faults = 0
    for door in [given.door] if given.door else DOORS:
        began = time.monotonic()
        outcome = run(door, given.seed, numbers)
        show(
            door, outcome, f"{len(numbers):,} frames of seed {given.seed} at {door}, {time.monotonic() - began:,.0f} s"
        )
        faults += len(outcome.faults)
    return 1 if faults else 0


def run(door: str, seed: int, numbers: range) -> Fuzzed:
    console = Console(stderr=True)
    bar = Progress(console=console, disable=not console.is_terminal)
    with tempfile.TemporaryDirectory() as folder, bar:
        task = bar.add_task(door, total=len(numbers))
        opened = DOORS[door](Path(folder) / "sessions.db")
        return asyncio.run(fuzz(opened, seed, numbers, lambda: bar.advance(task)))


def show(door: str, outcome: Fuzzed, title: str) -> None:
    console = Console(width=None if sys.stdout.isatty() else 170)
    shown = sorted({answer for _, answer in outcome.answers})
    table = Table("frames", *shown, title=title)
    for kind in sorted({kind for kind, _ in outcome.answers}):
        table.add_row(kind, *(f"{outcome.answers[kind, answer]:,}" for answer in shown))
    console.print(table)
    show_faults(console, outcome.faults, f"{door}: every frame got what it was owed")


if __name__ == "__main__":
    sys.exit(main())
