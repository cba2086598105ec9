"""Prints the size and shape of `server/ullage`: `python scripts/structure.py [FOLDER]`.

Counts files, lines, imports, modules with one importer among their siblings, and functions that take a workspace and a
session. To compare two checkouts, name the other one's `server/ullage`.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "server" / "ullage"
    for name, value in measure(folder).items():
        print(f"{name:<52} {value}")
    return 0


def measure(folder: Path) -> dict[str, str]:
    """Returns the figures by name, ready to print. One-line `__init__.py` files are not counted as files."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    modules = {_module(folder, path): path for path in trees}
    importers = _importers(trees, modules)
    lonely = [path for path, users in importers.items() if len(users) == 1 and next(iter(users)).parent == path.parent]
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, _FUNCTION)]
    lengths = [_length(node) for node in functions]
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1 for tree in trees.values() for node in _imports(tree)
    )
    names = Counter(path.name for path in trees if path.name != "__init__.py")
    total = sum(lines.values())
    return {
        "files, lines": f"{len(lines)}, {total:,}",
        "file p50/p90/max": _spread([count for path, count in lines.items() if path.name != "__init__.py"]),
        "function p50/p90/max": _spread(lengths),
        "import lines": f"{imports / total:.1%}",
        "modules with exactly one importer, a neighbour": f"{len(lonely)}",
        "  of these under 40 lines": f"{sum(lines[path] < 40 for path in lonely)}",
        "file names that occur more than once": f"{sum(count > 1 for count in names.values())}",
        "functions that take a workspace first": f"{sum(_names(node)[:1] == ['workspace'] for node in functions)}",
        "functions that take a workspace and a session": f"{sum(_takes_both(node) for node in functions)}",
    }


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _spread(counts: list[int]) -> str:
    cuts = quantiles(counts, n=10)
    return f"{cuts[4]:.0f}/{cuts[8]:.0f}/{max(counts)}"


def _names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [argument.arg for argument in node.args.args if argument.arg not in ("self", "cls")]


def _takes_both(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = _names(node)
    return "workspace" in names and bool({"session", "session_id"} & set(names))


def _module(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _importers(trees: dict[Path, ast.Module], modules: dict[str, Path]) -> dict[Path, set[Path]]:
    users: dict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in _imports(tree):
            for name in _imported(node):
                if name in modules and modules[name] != path:
                    users[modules[name]].add(path)
    return users


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    sys.exit(main())
