"""What a start costs: editors ask each server that they find for its version, and agents' hooks import the package."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.systems import needs_linux

pytestmark = needs_linux

# Each command runs so often, in turns. The least of the times is the one that other programs have disturbed least.
_RUNS = 10
_EMPTY = (sys.executable, "-c", "pass")
_PROGRAM = Path(sys.executable).with_name("ullage")


def least_seconds(commands: Sequence[Sequence[str]]) -> list[float]:
    """Returns the least processor time of each command, in seconds. Raises `AssertionError` if one fails."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(_RUNS):
        for command, taken in zip(commands, times, strict=True):
            taken.append(_seconds(command))
    return [min(taken) for taken in times]


def _seconds(command: Sequence[str]) -> float:
    # Coverage would be begun in each.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(command[0], [*command], environment, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return used.ru_utime + used.ru_stime


def test_the_version_costs_at_most_as_much_again_as_an_empty_python() -> None:
    if not _PROGRAM.exists():
        pytest.skip(f"there is no {_PROGRAM}")
    empty, version = least_seconds([_EMPTY, (str(_PROGRAM), "--version")])
    assert version <= 2 * empty


def test_the_import_costs_at_most_30_milliseconds() -> None:
    empty, imported = least_seconds([_EMPTY, (sys.executable, "-c", "import ullage")])
    assert imported - empty <= 0.030
