"""Folders inside a package ("rooms") import each other in one direction only."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
PACKAGES = ("summary",)


def rooms(package: str) -> dict[str, set[str]]:
    """Each room of a package and the rooms that its modules import."""
    folder = SOURCE / package
    names = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    return {
        name: {room for path in (folder / name).rglob("*.py") for room in _imported(path, package)} & (names - {name})
        for name in names
    }


def _imported(path: Path, package: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[:2] == ["ullage", package]:
                yield parts[2] if len(parts) > 2 else ""


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_of_a_package_do_not_import_each_other_in_a_circle(package: str) -> None:
    # Raises CycleError, which names the circle.
    list(TopologicalSorter(rooms(package)).static_order())


def test_a_summary_is_read_before_it_is_chosen() -> None:
    found = rooms("summary")
    assert found["reading"] == set()
    assert found["choosing"] == {"reading"}
    assert found["by_model"] <= {"choosing", "reading"}
