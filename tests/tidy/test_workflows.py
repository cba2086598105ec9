"""Workflows run the same scripts as contributors, and every action is pinned so that its code cannot change."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def values(path: Path, key: str) -> list[str]:
    """Returns the values of `key` in the workflow's lines."""
    return re.findall(rf"(?m)^\s*(?:- )?{key}: (.+)$", path.read_text(encoding="utf-8"))


@each_workflow
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    uses = values(path, "uses")
    assert uses
    assert [action for action in uses if not PINNED.fullmatch(action)] == []


@each_workflow
def test_scripts_that_are_run_exist(path: Path) -> None:
    scripts = [word for run in values(path, "run") for word in run.split() if word.startswith("./")]
    assert scripts
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


def test_every_system_and_python_is_tested() -> None:
    path = ROOT / ".github" / "workflows" / "test.yml"
    assert values(path, "os") == ["[ubuntu-latest, macos-latest, windows-latest]"]
    assert values(path, "python") == ["[" + ", ".join(f'"{version}"' for version in SUPPORTED) + "]"]
    classified = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(classified) == SUPPORTED
