"""Runs each case in many situations on several processes, and counts the verdicts."""

import traceback
from collections import Counter
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context

from msgspec import Struct

from lawcheck.cases import CASES
from lawcheck.laws import LAWFUL, Verdict, judge
from lawcheck.situation import random_situation
from ullage.model.errors import UllageError

# Histories per batch: small enough to keep two processes busy to the end, large enough that the handover costs nothing.
_BATCH = 250
_REMEMBERED = 20
# The errors that a mistake in an edit raises. They are counted, and the run continues.
FAULTS = (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, UllageError, ValueError)


class Tally(Struct, kw_only=True):
    """How often each case had each verdict, and the first histories that broke a law, with the broken laws."""

    verdicts: Counter[tuple[str, Verdict]]
    broken: list[str]
    histories: int = 0

    @property
    def is_lawful(self) -> bool:
        """Whether no law was broken."""
        return not self.broken

    def add(self, other: "Tally") -> None:
        """Adds the counts of another part of the run."""
        self.verdicts += other.verdicts
        self.broken = (self.broken + other.broken)[:_REMEMBERED]
        self.histories += other.histories


def run(seed: int, start: int, histories: int) -> Tally:
    """Runs the histories `start` to `start + histories` of a seed."""
    tally = Tally(verdicts=Counter(), broken=[])
    for number in range(start, start + histories):
        situation = random_situation(seed, number)
        for case in CASES:
            try:
                verdicts = judge(situation, case)
            except FAULTS:
                verdicts = {Verdict.RAISED}
                tally.broken.append(traceback.format_exc(limit=-3))
            tally.verdicts.update((case.name, verdict) for verdict in verdicts)
            tally.broken += (f"history {number}, {case.name}: {verdict}" for verdict in verdicts - LAWFUL)
        tally.histories += 1
    return tally


def run_all(seed: int, histories: int, jobs: int) -> Iterator[Tally]:
    """Yields the parts of the whole run as they finish."""
    with get_context("spawn").Pool(jobs) as pool:
        starts = range(0, histories, _BATCH)
        yield from pool.imap_unordered(partial(_batch, seed, histories), starts)


def _batch(seed: int, histories: int, start: int) -> Tally:
    return run(seed, start, min(_BATCH, histories - start))
