"""No file imports, over others, a file that imports it; and no folder of a package does.

Imports inside functions count: they put off the loading and leave the circle. Imports for annotations alone, under
`TYPE_CHECKING`, do not.
"""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from structure import imports_by_module

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
# Packages whose folders and files build on each other in one direction.
LAYERED = (
    *("acp", "api", "app", "edits", "ledger", "lsp", "memory", "model", "policy", "providers", "proxy", "redaction"),
    *("service", "store", "summary", "system", "tokens", "tools", "transcript", "watch", "wire"),
)


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Returns the modules of one circle, the first one twice; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    return imports_by_module(SOURCE)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:3])


def test_no_files_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert circle(imports) == []


@pytest.mark.parametrize("package", LAYERED)
def test_the_folders_of_a_package_import_each_other_in_one_direction(
    package: str, imports: dict[str, set[str]]
) -> None:
    rooms: dict[str, set[str]] = {}
    own = f"ullage.{package}."
    for module, names in imports.items():
        if module.startswith(own):
            found = {room_of(name) for name in names if name.startswith(own)} - {room_of(module)}
            rooms.setdefault(room_of(module), set()).update(found)
    assert rooms
    assert circle(rooms) == []


def test_a_circle_is_found_also_through_an_import_inside_a_function(tmp_path: Path) -> None:
    def house(number: int, last: str) -> dict[str, set[str]]:
        folder = tmp_path / str(number) / "house"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "a.py").write_text("from house import b\n")
        (folder / "b.py").write_text("def run() -> None:\n    from house.c import x\n")
        (folder / "c.py").write_text(last)
        return imports_by_module(folder)

    assert circle(house(1, "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from house.a import y\nx = 1\n")) == []
    assert set(circle(house(2, "def x() -> None:\n    import house.a\n"))) == {"house.a", "house.b", "house.c"}
