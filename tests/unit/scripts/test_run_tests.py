"""How `scripts/test` runs pytest."""

from pathlib import Path

import pytest

from run_tests import FOLDERS, PARALLEL, plan

TESTS = Path(__file__).resolve().parents[2]


def test_every_folder_of_tests_is_run() -> None:
    folders = {f"tests/{path.parent.name}" for path in TESTS.glob("*/test_*.py")}
    folders |= {f"tests/{path.parent.parent.name}" for path in TESTS.glob("*/*/test_*.py")}
    assert sorted(FOLDERS) == sorted(folders)


def test_everything_runs_on_all_processors() -> None:
    assert plan([]) == (*PARALLEL, *FOLDERS)


@pytest.mark.parametrize(
    "flags", [["--all", "-x"], ["--all", "--long"], ["--cov", "--cov-report=term", "--cov-fail-under=90"]]
)
def test_flags_leave_it_so(flags: list[str]) -> None:
    assert plan(flags) == (*PARALLEL, *flags, *FOLDERS)


def test_whole_folders_run_on_all_processors() -> None:
    assert plan(["tests/unit/", "-q"]) == (*PARALLEL, "-q", "tests/unit")
    assert plan(["tests/e2e", "tests/unit"]) == (*PARALLEL, "tests/e2e", "tests/unit")


@pytest.mark.parametrize(
    "arguments",
    [["tests/unit/policy"], ["-k", "warns"], ["--pdb"], ["-s", "tests/unit"], ["tests/golden", "--update-golden"]],
)
def test_anything_else_is_one_plain_run(arguments: list[str]) -> None:
    assert plan(arguments) == tuple(arguments)
