"""Imports point downwards only (server/ARCHITECTURE.md, Ranks)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
RANKS = [
    {"model", "jsonrpc"},
    {"tokens", "transcript", "formats", "redaction"},
    {"agents"},
    {"policy", "edits", "summary", "memory"},
    {"service"},
    {"store", "providers", "catalog", "tools", "system"},
    {"api"},
    {"lsp", "acp"},
    {"proxy"},
    {"app"},
    {"cli", "embed"},
]
RANK = {package: rank for rank, packages in enumerate(RANKS) for package in packages}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def imported_packages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for name in names:
            parts = name.split(".")
            if parts[0] == "ullage" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_imports_only_packages_below_its_own(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    upward = {package for package in imported_packages(path) if package != own and RANK[package] >= RANK[own]}
    assert not upward, f"{own} (rank {RANK[own]}) may not import {sorted(upward)}"


def test_every_package_has_a_rank() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages <= RANK.keys()
