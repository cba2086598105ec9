"""The site is made of the documents that are in the repository; its page on agents has the facts of each."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from generators.agent_page import agent_tables
from support.documents import ROOT
from ullage.agents.table import AGENTS

SITE = (sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet")
needs_sphinx = pytest.mark.skipif(find_spec("sphinx") is None, reason="needs Sphinx: ./scripts/docs gets it")


def make(root: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    command = [*SITE, "-c", root / "docs", "-d", out.with_name("read"), root, out]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_every_page_of_the_guide_is_in_the_navigation() -> None:
    named = re.findall(r'"([\w-]+)"', (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    assert {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")} - {"index"} <= {*named}


@needs_sphinx
def test_the_site_is_made_without_a_warning_and_its_links_lead_to_pages_or_the_repository(tmp_path: Path) -> None:
    made = make(ROOT, tmp_path / "site")
    assert (made.returncode, made.stderr) == (0, "")
    front = (tmp_path / "site" / "docs" / "guide" / "index.html").read_text(encoding="utf-8")
    assert "In two minutes" in front
    assert "With your agents" in front
    assert "docs/guide/index.html" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for page in (tmp_path / "site").rglob("*.html"):
        for link in re.findall(r'<a [^>]*href="([^"#]+)', page.read_text(encoding="utf-8")):
            if "/github.com/ullage/ullage/" in link and "/main/" in link:
                assert (ROOT / link.partition("/main/")[2]).exists(), link
            elif "://" not in link and not link.startswith("mailto:"):
                assert (page.parent / link).is_file(), (page, link)


@needs_sphinx
def test_a_link_without_a_target_is_an_error_that_names_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs" / "guide").mkdir(parents=True)
    for name in ("pyproject.toml", "docs/conf.py"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    (root / "docs" / "guide" / "index.md").write_text("# A page\n\n[gone](no-such-page.md)\n", encoding="utf-8")
    made = make(root, tmp_path / "site")
    assert made.returncode != 0
    assert "no-such-page.md" in made.stderr


def test_the_page_on_agents_says_of_each_where_its_conversations_are() -> None:
    tables = agent_tables()
    for agent in AGENTS:
        assert f"[{agent.name}](#" in tables["all agents"]
        assert "| conversations" in tables[agent.name]
        assert ("`wire` adds to" in tables[agent.name]) is (agent.wiring is not None)
    assert "| variables that move them | `CODEX_HOME` |" in tables["Codex"]
    assert "180,000 of 200,000" in tables["all agents"]
    assert "conversations (macOS) | `~/.cursor/chats`, `~/Library/Application Support/cursor/chats`" in tables["Cursor"]
