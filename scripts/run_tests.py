"""Runs pytest on all processors for whole folders: each test has a store, folders and ports of its own.

With any other argument (a file, -k, --pdb, …) there is one plain run of pytest, as for debugging a test.
"""

import subprocess
import sys
from collections.abc import Sequence

FOLDERS = (
    *("tests/tidy", "tests/unit", "tests/properties", "tests/interaction", "tests/golden"),
    *("tests/e2e", "tests/editors"),
)
# Each process collects all tests itself. More processes take longer to start than they save.
MOST_PROCESSES = 8
PARALLEL = ("-n", "auto", "--maxprocesses", str(MOST_PROCESSES), "--dist", "worksteal")
_FLAGS = ("--all", "--long", "-q", "-v", "-vv", "-x")
_FLAGS_WITH_VALUE = ("--cov", "--durations=", "--maxfail=", "--tb=")


def plan(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the arguments of pytest."""
    flags = tuple(each for each in arguments if each in _FLAGS or each.startswith(_FLAGS_WITH_VALUE))
    folders = tuple(each.rstrip("/") for each in arguments if each not in flags)
    if not set(folders) <= set(FOLDERS):
        return tuple(arguments)
    return (*PARALLEL, *flags, *(folders or FOLDERS))


def main(arguments: Sequence[str]) -> int:
    """Runs pytest and returns its exit status."""
    return subprocess.run([sys.executable, "-m", "pytest", *plan(arguments)], check=False).returncode


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        # pytest got the signal as well, and has printed where it was.
        raise SystemExit(130) from None
