"""Everything about one coding agent is in its file or folder: no module outside `agents/` names an agent
(`agents/table.py`)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.tables import every

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
# Names of models are not meant, although some agents share them: Codex is both.
NAMES = re.compile(
    r"claude[ _-]?code|claudecode|_claude/|\bcodex\b|codex_|_codex|gemini[ _-]?cli|open[ _-]?code|qwen[ _-]?code"
    r"|copilot|\bcline\b|\broo[ _-]?code|\bcursor[ _-]agent|\bcrush\b|\bgoose\b|kimi[ _-]?code|open[ _-]?hands"
    r"|\baider\b",
    re.IGNORECASE,
)
# Packages that know models by their names. The readers of benchmarks' agents in formats/ use none of these names.
KNOW_MODELS = {"known_models", "providers", "tokens"}
# The files have vendors' names, but the list is for all agents.
LISTS = {"model/message.py"}
MODULES = sorted(
    path
    for path in SOURCE.rglob("*.py")
    if path.relative_to(SOURCE).parts[0] not in {"agents", *KNOW_MODELS}
    and path.relative_to(SOURCE).as_posix() not in LISTS
)


def docstrings(tree: ast.Module) -> set[int]:
    """Returns the ids of the nodes that are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def words(tree: ast.Module) -> Iterator[str]:
    """Yields every identifier, and every text that is no docstring."""
    described = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Constant(value=str(text)) if id(node) not in described:
                yield text
            case _:
                pass


def names_in(source: str) -> list[str]:
    """Returns the words that name an agent."""
    every_word = [*words(ast.parse(source))]
    # No name spans lines. One search of all words is a tenth of the work of a search of each.
    return [word for word in every_word if NAMES.search(word)] if NAMES.search("\n".join(every_word)) else []


@every("path", MODULES)
def test_no_module_outside_agents_names_an_agent(path: Path) -> None:
    assert names_in(path.read_text()) == []


def test_a_name_would_be_found() -> None:
    source = '"""Claude Code."""\nfrom a import codex_log\nx = "claudeCode"\ny = "cursor"'
    assert names_in(source) == ["codex_log", "claudeCode"]
