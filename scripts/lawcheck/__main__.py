"""Checks every kind of edit on 100,000 random histories and prints a table of the results: `./scripts/laws`.

Exit status 1 if a law was broken. The histories are named in the output; the same seed and `--only` run one again.
"""

import argparse
import sys
import time
from collections import Counter

from rich.console import Console
from rich.progress import track
from rich.table import Table

from lawcheck.cases import CASES
from lawcheck.laws import Verdict
from lawcheck.runs import Tally, run, run_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/laws", description=__doc__)
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="the one history of that number")
    given = parser.parse_args()
    began = time.monotonic()
    tally = Tally(verdicts=Counter(), broken=[])
    if given.only is not None:
        tally.add(run(given.seed, given.only, 1))
    else:
        parts = run_all(given.seed, given.histories, given.jobs)
        console = Console(stderr=True)
        for part in track(parts, total=-(-given.histories // 250), console=console, disable=not console.is_terminal):
            tally.add(part)
    show(tally, given.seed, time.monotonic() - began)
    return 0 if tally.is_lawful else 1


def show(tally: Tally, seed: int, seconds: float) -> None:
    console = Console(width=None if sys.stdout.isatty() else 170)
    table = Table(title=f"{tally.histories:,} histories of seed {seed}, {len(CASES)} ways each, {seconds:,.0f} s")
    table.add_column("what goes")
    for verdict in Verdict:
        table.add_column(verdict.value, justify="right")
    for case in CASES:
        table.add_row(case.name, *(f"{tally.verdicts[case.name, verdict]:,}" for verdict in Verdict))
    console.print(table)
    for line in tally.broken:
        console.print(f"BROKEN  {line}", highlight=False, markup=False)
    console.print(
        "no law broken" if tally.is_lawful else f"broken; see one again: ./scripts/laws --seed {seed} --only N"
    )


if __name__ == "__main__":
    sys.exit(main())
