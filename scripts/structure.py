"""Prints the size and shape of `server/ullage`: `python scripts/structure.py [FOLDER]`.

Counts files, lines, imports and the arrows between modules. To compare two checkouts, name the other one's
`server/ullage`.
"""

import ast
import sys
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "server" / "ullage"
    for name, value in measure(folder).items():
        print(f"{name:<52} {value}")
    return 0


def measure(folder: Path) -> dict[str, str]:
    """Returns the figures by name, ready to print. One-line `__init__.py` files are not counted as files."""
    trees = parse(folder)
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    arrows = sum(map(len, imports_by_module(folder).values()))
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, _FUNCTION)]
    lengths = [_length(node) for node in functions]
    imports = sum(_length(each.node) for tree in trees.values() for each in _imports(tree) if each.is_run)
    total = sum(lines.values())
    return {
        "files, lines": f"{len(lines)}, {total:,}",
        "file p50/p90/max": _spread([count for path, count in lines.items() if path.name != "__init__.py"]),
        "function p50/p90/max": _spread(lengths),
        "import lines": f"{imports / total:.1%}",
        "imports of own modules per 1,000 lines, per file": f"{1000 * arrows / total:.1f}, {arrows / len(lines):.2f}",
    }


def parse(folder: Path) -> dict[Path, ast.Module]:
    """Returns the syntax trees of all modules under a folder."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}


def imports_by_module(folder: Path) -> dict[str, set[str]]:
    """Returns for each module under a package's folder the modules of the package that it imports when it is loaded or
    run. What is imported for annotations alone is left out."""
    modules = {_module(folder, path): path for path in folder.rglob("*.py")}
    return {
        module: {name for each in imports_of(path) if each.is_run for name in _imported(each.node, modules.keys())}
        - {module}
        for module, path in modules.items()
    }


class Import(NamedTuple):
    """An import of a file. What is imported for annotations alone is not run."""

    node: ast.Import | ast.ImportFrom
    is_run: bool

    def names(self) -> list[str]:
        """Returns the modules that are named: `a.b` for `from a.b import c`."""
        node = self.node
        return [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    """Returns the imports of a file, those inside functions, too."""
    return tuple(_imports(ast.parse(path.read_text(encoding="utf-8"))))


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _spread(counts: list[int]) -> str:
    cuts = quantiles(counts, n=10)
    return f"{cuts[4]:.0f}/{cuts[8]:.0f}/{max(counts)}"


def _module(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.Module) -> Iterator[Import]:
    nodes: list[tuple[ast.AST, bool]] = [(tree, True)]
    while nodes:
        node, is_run = nodes.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield Import(node, is_run)
        else:
            is_run = is_run and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
            nodes += [(each, is_run) for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)]


def _imported(node: ast.Import | ast.ImportFrom, modules: Container[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if name in modules else node.module or "" for name in inner]
    return (name for name in names if name in modules)


if __name__ == "__main__":
    sys.exit(main())
