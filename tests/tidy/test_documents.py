"""The documents agree with the tree: links have targets, the architecture names files and tests that exist, and lists
of commands, agents, settings and variables are complete."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from support.documents import ROOT, heading_anchors, region, table_rows
from support.tables import every
from ullage.agents.table import AGENTS
from ullage.cli.command_line import COMMANDS, options_page
from ullage.lsp import server

LONGEST_MAP = 1_500
ARCHITECTURE = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
GENERATED = {"node_modules", "test-results", "build", "dist"}


def documents() -> list[Path]:
    folders = ("docs", "server", "tests", "editors", "protocol", ".github")
    found = [ROOT / "README.md", *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))]
    return sorted(path for path in found if not GENERATED & set(path.relative_to(ROOT).parts))


def is_broken(link: str, document: Path) -> bool:
    """Whether a relative link names no file, or no heading in it."""
    if "://" in link or link.startswith("mailto:"):
        return False
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in heading_anchors(target.read_text(encoding="utf-8"))


@every("document", documents())
def test_links_lead_to_files_and_headings(document: Path) -> None:
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [link for link in LINK.findall(text) if is_broken(link, document)] == []


def test_the_page_on_the_command_line_names_each_command_and_each_agent_whose_conversations_are_read() -> None:
    page = (ROOT / "docs" / "guide" / "command-line.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"`(?:ullage )?([a-z]+)\b[^`]*`", page))
    agents = {name.strip() for name in " ".join(page.split()).partition("database of ")[2].split(",")}
    assert {command.name for command in COMMANDS[1:]} - commands == set()
    assert {agent.name for agent in AGENTS} - agents == set()


def test_the_page_on_settings_names_those_that_come_first_in_the_generated_list() -> None:
    page = (ROOT / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
    generated = region((ROOT / "protocol" / "README.md").read_text(encoding="utf-8"), "generated: settings")
    first = [row["setting"] for row in table_rows(generated.partition("### Advanced")[0], "setting")]
    assert sorted(re.findall(r"`[\w.]+`", page.partition("They come first")[0])) == sorted(first)


def test_the_page_of_vs_codes_extension_names_each_setting_that_is_not_advanced() -> None:
    folder = ROOT / "editors" / "vscode"
    usual, _ = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]["configuration"]
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert [name for name in usual["properties"] if f"`{name}`" not in page] == []


def test_the_editors_page_lists_the_commands_of_the_language_server() -> None:
    page = (ROOT / "editors" / "README.md").read_text(encoding="utf-8")
    listed = [row["command"].strip("`") for row in table_rows(page, "command")]
    assert sorted(listed) == sorted(command.name for command in server.COMMANDS)


def test_the_help_names_each_variable_that_is_read_for_the_user() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "server" / "ullage").rglob("*.py"))
    read = set(re.findall(r'(?:get\(|VARIABLE = )"(ULLAGE_\w+)"', sources))
    assert "ULLAGE_STORE" in read
    assert [name for name in sorted(read) if f"  {name}" not in options_page().format_help()] == []


def test_the_architecture_is_short_enough_to_be_a_map() -> None:
    assert len(ARCHITECTURE.split()) <= LONGEST_MAP


def test_each_invariant_names_a_test_that_exists() -> None:
    rows = table_rows(region(ARCHITECTURE, "invariants"), "always true")
    assert rows
    assert [row["held by"] for row in rows if not is_test(row["held by"].strip("`"))] == []


def is_test(name: str) -> bool:
    """Whether `file::function` is a test."""
    path, _, function = name.partition("::")
    if not (ROOT / path).is_file():
        return False
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return function.startswith("test_") and function in names


# Documents for those who change Ullage. Those for users name the users' files.
MAPS = [path for path in documents() if path.relative_to(ROOT).parts[0] in ("server", "editors", "tests", ".github")]
# The name of a user's file, in an explanation of the search.
INVENTED = {"src/app/main.py"}


@pytest.mark.parametrize("document", MAPS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_source_file_that_a_document_names_exists(document: Path) -> None:
    named = set(re.findall(r"`([\w./-]+\.(?:py|ts|mjs|lua|el))(?:`|:)", document.read_text(encoding="utf-8")))
    assert [path for path in sorted(named - INVENTED) if not source_file(path, document)] == []


def source_file(path: str, document: Path) -> bool:
    """Whether a file is where a document says: by its path from the root, the package or the document's folder, or,
    without a folder, by its name."""
    if "/" not in path:
        return path in source_names()
    return any((home / path).exists() for home in (ROOT, ROOT / "server" / "ullage", *document.parents))


@cache
def source_names() -> set[str]:
    folders = ("server", "editors", "tests", "scripts")
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.*") if path.is_file())
    return {path.name for path in files if not GENERATED & set(path.relative_to(ROOT).parts)}


def test_each_folder_that_the_architecture_names_exists() -> None:
    named = [path for path in re.findall(r"`([\w./]+/)(?:`|:)", ARCHITECTURE) if path.count("/") > 1]
    assert [path for path in named if not any((home / path).exists() for home in (ROOT, ROOT / "server/ullage"))] == []
