"""How `scripts/test` splits the tests into runs."""

from pathlib import Path

import pytest

from run_tests import ONE_BY_ONE, PARALLEL, TOGETHER, plan

TESTS = Path(__file__).resolve().parents[2]


def test_every_folder_of_tests_is_in_exactly_one_step() -> None:
    folders = {f"tests/{path.parent.name}" for path in TESTS.glob("*/test_*.py")}
    folders |= {f"tests/{path.parent.parent.name}" for path in TESTS.glob("*/*/test_*.py")}
    assert sorted((*TOGETHER, *ONE_BY_ONE)) == sorted(folders)


def test_everything_runs_in_two_steps() -> None:
    assert plan([]) == ((*PARALLEL, *TOGETHER), ONE_BY_ONE)


def test_flags_go_to_both_steps() -> None:
    assert plan(["--all", "-x"]) == ((*PARALLEL, "--all", "-x", *TOGETHER), ("--all", "-x", *ONE_BY_ONE))


def test_coverage_is_reported_and_judged_after_the_second_step() -> None:
    first, second = plan(["--all", "--cov", "--cov-report=term", "--cov-fail-under=90"])
    assert first == (*PARALLEL, "--all", "--cov", "--cov-report=", *TOGETHER)
    assert second == ("--all", "--cov", "--cov-report=term", "--cov-fail-under=90", "--cov-append", *ONE_BY_ONE)


def test_whole_folders_run_in_the_step_they_belong_to() -> None:
    assert plan(["tests/unit/", "-q"]) == ((*PARALLEL, "-q", "tests/unit"),)
    assert plan(["tests/e2e", "--cov"]) == (("--cov", "tests/e2e"),)
    assert plan(["tests/perf", "tests/unit"]) == ((*PARALLEL, "tests/unit"), ("tests/perf",))


@pytest.mark.parametrize(
    "arguments",
    [["tests/unit/policy"], ["-k", "warns"], ["--pdb"], ["-s", "tests/unit"], ["tests/golden", "--update-golden"]],
)
def test_anything_else_is_one_plain_run(arguments: list[str]) -> None:
    assert plan(arguments) == (tuple(arguments),)
