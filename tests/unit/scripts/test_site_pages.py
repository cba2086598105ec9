"""The site is made of the documents that are in the repository, with links that hold there, too."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from site_pages import FRONT, PAGES, PARTICULARS, Site, main, page_of, place, stage
from support.documents import ROOT
from ullage.agents.table import AGENTS, word_of

REPOSITORY = "https://example.org/ullage"
DOCUMENTS = [FRONT, *(document for _, _, document in PAGES)]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    stage(Site(ROOT, folder, REPOSITORY))
    return folder


def test_every_page_of_the_guide_is_in_the_navigation() -> None:
    guide = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "guide").glob("*.md")}
    assert guide <= {*DOCUMENTS}
    assert len({place(document) for document in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_link_of_a_page_leads_to_a_page_a_picture_or_the_repository(staged: Path, document: str) -> None:
    page = staged / place(document)
    for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name = link.partition("#")[0]
        if "://" in link:
            assert name.startswith((REPOSITORY, "http"))
            if name.startswith(REPOSITORY):
                assert (ROOT / name.removeprefix(REPOSITORY).split("/", 3)[3]).exists(), link
        elif name:
            assert (page.parent / name).is_file(), link


def test_each_agent_has_a_page_with_where_its_conversations_are_and_no_note_is_of_another(staged: Path) -> None:
    assert {*PARTICULARS} == {agent.name for agent in AGENTS}
    index = (staged / "agents" / "index.md").read_text(encoding="utf-8")
    for agent in AGENTS:
        name = f"{word_of(agent)}.md"
        page = (staged / "agents" / name).read_text(encoding="utf-8")
        assert f"[{agent.name}]({name})" in index
        assert page.startswith(f"# {agent.name}\n")
        assert ("where its conversations are" in page) and ("followed live" in page) is (agent.sessions is not None)
        assert (f"ullage unwire {agent.wiring.word}" in page) if agent.wiring else ("`ullage unwire" not in page)
        assert ("--in" in page) is (agent.writer is not None)


def test_a_page_names_the_folders_of_each_system_and_the_variables_that_move_them() -> None:
    codex, cursor = (page_of(agent) for agent in AGENTS if agent.name in {"Codex", "Cursor"})
    assert "| variables that move them | `CODEX_HOME` |" in codex
    assert "of 200,000 tokens at 180,000" in codex
    assert "where its conversations are (macOS)" in cursor
    assert "~/Library/Application Support/cursor/chats/" in cursor


def test_a_link_without_a_target_is_an_error_that_names_it(tmp_path: Path) -> None:
    for document in DOCUMENTS:
        copy = tmp_path / "root" / document
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("# A page\n", encoding="utf-8")
    (tmp_path / "root" / FRONT).write_text("[gone](no-such-page.md)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"docs/guide/index\.md: no-such-page\.md"):
        stage(Site(tmp_path / "root", tmp_path / "staged", REPOSITORY))


@pytest.mark.skipif(find_spec("sphinx") is None, reason="needs Sphinx: ./scripts/docs gets it")
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    assert main([str(tmp_path / "site")]) == 0
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "In two minutes" in front
    assert "With your agents" in front
