"""Runs pytest in two steps: tests that may share the machine on all processors, then the others one after another.

Tests of the second step measure time, or drive real editors and agents. Only whole folders are run in two steps. With
any other argument (a file, -k, --pdb, …) there is one plain run of pytest, as for debugging a test.
"""

import subprocess
import sys
from collections.abc import Sequence

TOGETHER = ("tests/tidy", "tests/unit", "tests/properties", "tests/interaction", "tests/golden")
ONE_BY_ONE = ("tests/e2e", "tests/editors", "tests/perf")
# Each process collects all tests itself. More processes take longer to start than they save.
MOST_PROCESSES = 8
PARALLEL = ("-n", "auto", "--maxprocesses", str(MOST_PROCESSES), "--dist", "worksteal")
_FLAGS = ("--all", "-q", "-v", "-vv", "-x")
_FLAGS_WITH_VALUE = ("--durations=", "--maxfail=", "--tb=")


def plan(arguments: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Returns the arguments of each run of pytest, in order."""
    coverage = tuple(each for each in arguments if each.startswith("--cov"))
    flags = tuple(each for each in arguments if each in _FLAGS or each.startswith(_FLAGS_WITH_VALUE))
    folders = tuple(each.rstrip("/") for each in arguments if each not in (*coverage, *flags))
    if not set(folders) <= {*TOGETHER, *ONE_BY_ONE}:
        return (tuple(arguments),)
    first = tuple(folder for folder in TOGETHER if folder in (folders or TOGETHER))
    second = tuple(folder for folder in ONE_BY_ONE if folder in (folders or ONE_BY_ONE))
    if not first or not second:
        return ((*(PARALLEL if first else ()), *flags, *coverage, *first, *second),)
    # Coverage is reported once, over both runs.
    collected = ("--cov", "--cov-report=") if coverage else ()
    appended = ("--cov-append",) if coverage else ()
    return (*PARALLEL, *flags, *collected, *first), (*flags, *coverage, *appended, *second)


def main(arguments: Sequence[str]) -> int:
    """Runs the plan and returns the first exit status that is not 0. After a failure the second run is made, too,
    unless -x."""
    statuses: list[int] = []
    for run in plan(arguments):
        command = [sys.executable, "-m", "pytest", *run]
        statuses.append(subprocess.run(command, check=False).returncode)
        if statuses[-1] and "-x" in arguments:
            break
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        # pytest got the signal as well, and has printed where it was.
        raise SystemExit(130) from None
