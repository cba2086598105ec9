"""How `scripts/test` runs pytest."""

from pathlib import Path

import pytest

from run_tests import FOLDERS, MOST_AGAIN, PARALLEL, in_stretches, plan, plan_again

TESTS = Path(__file__).resolve().parents[2]


def test_every_folder_of_tests_is_run() -> None:
    folders = {f"tests/{path.parent.name}" for path in TESTS.glob("*/test_*.py")}
    folders |= {f"tests/{path.parent.parent.name}" for path in TESTS.glob("*/*/test_*.py")}
    # Each file of it is run by tests/e2e/test_adapters.py, where its framework is.
    assert sorted([*FOLDERS, "tests/frameworks"]) == sorted(folders)


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


def test_each_stretch_of_the_tests_begins_with_a_share_of_the_long_ones() -> None:
    assert "".join(in_stretches(["A", "BB", "C", "D"], "abcdefghi", 3)) == "ADab" + "BBcde" + "Cfghi"
    assert "".join(in_stretches(["AAAA", "B"], "a", 2)) == "AAAA" + "Ba"
    assert "".join(in_stretches([], "abcde", 2)) == "abcde"


def test_few_failures_run_once_more_one_at_a_time() -> None:
    assert plan_again(["--all", "--cov", "--cov-fail-under=90"], ["tests/unit/test_a.py::test_b"]) == (
        *("--all", "-n", "0", "tests/unit/test_a.py::test_b"),
    )


@pytest.mark.parametrize(
    ("arguments", "count"),
    [(["--all"], 0), (["--all"], MOST_AGAIN + 1), (["--long"], 1), (["tests/unit/policy"], 1), (["-k", "warns"], 1)],
)
def test_many_failures_the_nights_and_plain_runs_get_no_second_try(arguments: list[str], count: int) -> None:
    assert plan_again(arguments, [f"tests/unit/test_a.py::test_{n}" for n in range(count)]) == ()
