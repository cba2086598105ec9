"""Folders inside a package ("rooms") import each other in one direction only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
# Each room may import those before it. A module next to the rooms is a room of one file.
ORDERS = {
    "service": (
        *("ports", "background", "conversation", "plan", "asking", "summaries"),
        *("compact", "sessions", "imports", "follow", "archive", "continuing", "turns"),
    ),
    "store": (
        "tables",
        "search",
        "table_store",
        "store_copy",
        "memories",
        "sqlite",
        "originals",
        "postgres",
        "offline",
        "team",
        "store_place",
    ),
}
# Modules that belong to no room: `service/memory.py` serves the memory tool alone; the summary's other modules are
# values and checks that all of its rooms share.
APART = {
    ("service", "memory"),
}


def modules() -> Iterator[tuple[str, Path]]:
    for package in ORDERS:
        for path in sorted((SOURCE / package).rglob("*.py")):
            if path.name != "__init__.py" and (package, room_of(package, path)) not in APART:
                yield package, path


def room_of(package: str, path: Path) -> str:
    return path.relative_to(SOURCE / package).parts[0].removesuffix(".py")


def imported_rooms(package: str, path: Path) -> set[str]:
    nodes = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom))
    names = (
        name
        for node in nodes
        for name in (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
        if name.startswith(f"ullage.{package}.")
    )
    return {name.split(".")[2] for name in names}


@pytest.mark.parametrize(
    ("package", "path"),
    list(modules()),
    ids=lambda value: value if isinstance(value, str) else "/".join(value.parts[-2:]),
)
def test_a_room_imports_only_rooms_before_it(package: str, path: Path) -> None:
    order = ORDERS[package]
    allowed = set(order[: order.index(room_of(package, path)) + 1])
    apart = {name for owner, name in APART if owner == package}
    assert imported_rooms(package, path) - apart <= allowed
