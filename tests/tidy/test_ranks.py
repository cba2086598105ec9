"""Imports go down the ranks that are drawn in server/ARCHITECTURE.md, the one place that says them."""

import re
from collections.abc import Iterator
from pathlib import Path

from structure import imports_of
from support.documents import ROOT, region
from support.tables import every

SOURCE = ROOT / "server" / "ullage"
DRAWN = re.compile(r"^ *(?P<rank>\d+) +(?P<packages>[a-z_]+(?: · [a-z_]+)*)(?:  |$)", re.MULTILINE)


def drawn_ranks() -> list[tuple[int, list[str]]]:
    """Each rank's number and packages, from the top of the picture down."""
    picture = region((ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8"), "ranks")
    return [(int(line["rank"]), line["packages"].split(" · ")) for line in DRAWN.finditer(picture)]


RANKS = drawn_ranks()
RANK = {package: rank for rank, packages in RANKS for package in packages}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def imported_packages(path: Path) -> Iterator[str]:
    for name in (name for each in imports_of(path) for name in each.names()):
        parts = name.split(".")
        if parts[0] == "ullage" and len(parts) > 1:
            yield parts[1]


def test_the_picture_goes_down_to_rank_0_without_a_gap() -> None:
    assert [rank for rank, _ in RANKS] == list(reversed(range(len(RANKS))))
    assert len(RANK) == sum(len(packages) for _, packages in RANKS)


def test_the_picture_shows_exactly_the_packages_there_are() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert RANK.keys() == packages


@every("path", MODULES)
def test_module_imports_only_packages_below_its_own(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    upward = {package for package in imported_packages(path) if package != own and RANK[package] >= RANK[own]}
    assert not upward, f"{own} (rank {RANK[own]}) may not import {sorted(upward)}"
