"""Files and functions stay small enough to be read at once (server/ARCHITECTURE.md, Size)."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 600
LONGEST_FUNCTION = 50


def sources() -> Iterator[Path]:
    for folder in ("server", "scripts", "tests"):
        yield from (ROOT / folder).rglob("*.py")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_is_longer_than_600_lines() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in sources()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_longer_than_50_lines() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in sources()
        for node in functions(path)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}
