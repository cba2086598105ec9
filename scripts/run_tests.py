"""Runs pytest in several processes for whole folders: each test has a store, folders and ports of its own.

Where at most three tests fail, these run once more, one at a time. If they pass then, the run passes, and its output
names them: each failed because other tests ran at the same time. `--long`, which runs every night, gives no test a
second try.

With any other argument (a file, -k, --pdb, …) there is one plain run of pytest, as for debugging a test.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pytest

FOLDERS = (
    *("tests/tidy", "tests/unit", "tests/properties", "tests/interaction", "tests/golden"),
    *("tests/e2e", "tests/editors"),
)
# Three for two processors, because tests of programs wait half of their time. Each process collects all tests itself,
# so more than eight take longer to start than they save.
PROCESSES = min(8, max(2, 3 * (os.cpu_count() or 1) // 2))
PARALLEL = ("-n", str(PROCESSES), "--dist", "worksteal")
# More failures than that have a cause of their own, which a second try would only hide for some of them.
MOST_AGAIN = 3
_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_T = TypeVar("_T")
_FLAGS = ("--all", "--long", "-q", "-v", "-vv", "-x")
_FLAGS_WITH_VALUE = ("--cov", "--durations=", "--maxfail=", "--tb=")


def plan(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the arguments of pytest."""
    flags = tuple(each for each in arguments if each in _FLAGS or each.startswith(_FLAGS_WITH_VALUE))
    folders = tuple(each.rstrip("/") for each in arguments if each not in flags)
    if not set(folders) <= set(FOLDERS):
        return tuple(arguments)
    return (*PARALLEL, *flags, *(folders or FOLDERS))


def plan_again(arguments: Sequence[str], failed: Sequence[str]) -> tuple[str, ...]:
    """Returns pytest's arguments for a second try of the tests that failed, empty if they get none."""
    if not _is_parallel(arguments) or "--long" in arguments or not 0 < len(failed) <= MOST_AGAIN:
        return ()
    return (*(each for each in arguments if each == "--all"), "-n", "0", *failed)


def in_stretches(long: Sequence[Sequence[_T]], short: Sequence[_T], processes: int) -> list[_T]:
    """Returns tests in the order in which `worksteal` gives each process an equal stretch, from whose end others take
    when they have run theirs. Each stretch begins with a share of the groups of long tests, so that at the end none of
    these is waited for."""
    ordered: list[_T] = []
    left, rest = sum(map(len, long)) + len(short), iter(short)
    for process in range(processes):
        own = [test for group in long[process::processes] for test in group]
        own += islice(rest, max(0, left // (processes - process) - len(own)))
        left -= len(own)
        ordered += own
    return [*ordered, *rest]


def main(arguments: Sequence[str]) -> int:
    """Runs pytest and returns its exit status."""
    if _is_parallel(arguments):
        _LAST_FAILED.unlink(missing_ok=True)
    status = _python("pytest", *plan(arguments))
    failed = sorted(json.loads(_LAST_FAILED.read_text())) if _LAST_FAILED.exists() else []
    again = plan_again(arguments, failed) if status == pytest.ExitCode.TESTS_FAILED else ()
    if not again:
        return status
    print("Once more, one at a time:", *failed, sep="\n  ", flush=True)
    if status := _python("pytest", *again):
        return status
    print("FAILED AMONG OTHERS, PASSED ALONE (the first failures are shown before):", *failed, sep="\n  ", flush=True)
    # The first run's status may be that of its coverage as well.
    least = next((each.partition("=")[2] for each in arguments if each.startswith("--cov-fail-under=")), "")
    return _python("coverage", "report", "--format=total", f"--fail-under={least}") if least else status


def _is_parallel(arguments: Sequence[str]) -> bool:
    return plan(arguments)[: len(PARALLEL)] == PARALLEL


def _python(*module: str) -> int:
    return subprocess.run([sys.executable, "-m", *module], check=False).returncode


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        # pytest got the signal as well, and has printed where it was.
        raise SystemExit(130) from None
