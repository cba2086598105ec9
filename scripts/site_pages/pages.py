"""Which documents are pages of the site, and how their links change on the way there."""

import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from site_pages.agent_pages import agent_pages, write_agent_pages

# The front page, and the others in the order of the navigation: its heading, the page's title in it, and the document.
FRONT = "docs/guide/index.md"
PAGES: tuple[tuple[str, str, str], ...] = (
    ("Start", "Install", "docs/guide/install.md"),
    ("Start", "The figure", "docs/guide/figure.md"),
    ("Start", "Command line", "docs/guide/command-line.md"),
    ("With your agents", "Given back after a compaction", "docs/guide/given-back.md"),
    ("With your agents", "Status lines", "docs/guide/status-lines.md"),
    ("With your agents", "MCP", "docs/guide/mcp.md"),
    ("With your agents", "Plugin for Claude Code", "editors/claude-code/README.md"),
    ("With your agents", "Extension for Gemini CLI", "editors/gemini-cli/README.md"),
    ("With your agents", "Any agent, by the proxy", "server/PROXY.md"),
    ("In your editor", "All editors", "docs/guide/editors.md"),
    ("In your editor", "The first minutes in VS Code", "docs/guide/first-minutes.md"),
    ("In your editor", "VS Code", "editors/vscode/README.md"),
    ("In your editor", "Neovim", "editors/nvim/README.md"),
    ("In your editor", "Zed", "docs/guide/zed.md"),
    ("In your editor", "JetBrains", "docs/guide/jetbrains.md"),
    ("In your editor", "Emacs", "docs/guide/emacs.md"),
    ("In your editor", "Helix", "docs/guide/helix.md"),
    ("In your editor", "Any other", "editors/README.md"),
    ("Reference", "Settings", "docs/guide/settings.md"),
    ("Reference", "With a model", "docs/guide/models.md"),
    ("Reference", "In your own agent", "docs/guide/embedding.md"),
    ("Reference", "In an agent framework", "docs/guide/adapters.md"),
    ("Reference", "Cookbook for your own agent", "docs/guide/cookbook.md"),
    ("Reference", "Protocol", "protocol/README.md"),
    ("Reference", "In PostgreSQL", "docs/guide/postgresql.md"),
    ("Measured", "What becomes of each type of message", "docs/item_types.md"),
    ("Measured", "What survives an attack", "docs/reliability.md"),
    ("Measured", "How it compares", "docs/guide/comparison.md"),
    ("Inside", "Architecture", "server/ARCHITECTURE.md"),
    ("Inside", "Words", "docs/glossary.md"),
    ("Inside", "Release", "docs/RELEASE.md"),
    ("Inside", "Changes", "docs/CHANGELOG.md"),
)
_DOCUMENTS = frozenset((FRONT, *(document for _, _, document in PAGES)))
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")


def place(document: str) -> str:
    """Returns a document's path on the site. The guide's pages are at the top; other documents keep their folders."""
    return document.removeprefix("docs/guide/").removeprefix("docs/")


class Site(NamedTuple):
    """Where documents come from and go to: the checkout, the folder in which the pages are staged, and the repository's
    address on the web."""

    root: Path
    staged: Path
    repository: str


def stage(site: Site) -> None:
    """Copies the pages and their pictures, with links that hold on the site: a page leads to pages, and all else to the
    repository's own address. Raises `SystemExit` with each link that has no target."""
    broken: list[str] = []
    for document in (FRONT, *(document for _, _, document in PAGES)):
        text = (site.root / document).read_text(encoding="utf-8")
        target = site.staged / place(document)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_LINK.sub(partial(_relinked, site, document, broken), text), encoding="utf-8")
    write_agent_pages(site.staged)
    with (site.staged / place(FRONT)).open("a", encoding="utf-8") as front:
        front.write(navigation())
    if broken:
        raise SystemExit("links without a target:\n" + "\n".join(broken))


def navigation() -> str:
    """Returns the site's navigation as MyST's directives: a hidden table of contents a heading."""
    headings: dict[str, list[str]] = {}
    for heading, title, document in _in_order():
        headings.setdefault(heading, []).append(f"{title} <{place(document).removesuffix('.md')}>")
    return "\n".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```", ""])
        for heading, entries in headings.items()
    )


def _in_order() -> Iterable[tuple[str, str, str]]:
    """Yields the pages in the order of the navigation: those on each agent before the first on editors."""
    before = next(at for at, (heading, _, _) in enumerate(PAGES) if heading == "In your editor")
    yield from (*PAGES[:before], *agent_pages(), *PAGES[before:])


def _relinked(site: Site, document: str, broken: list[str], match: re.Match[str]) -> str:
    """Returns a link of a document as it is on its page. Adds one without a target to `broken`."""
    words, link = match.groups()
    name, mark, anchor = link.partition("#")
    if not name or "://" in link or link.startswith("mailto:"):
        return match.group()
    aim = os.path.normpath(PurePosixPath(document).parent / name).replace(os.sep, "/")
    if not (site.root / aim).exists():
        broken.append(f"{document}: {link}")
        return match.group()
    if aim in _DOCUMENTS:
        return f"{words}({_from(place(document), place(aim))}{mark}{anchor})"
    if words.startswith("!"):
        picture = site.staged / "images" / PurePosixPath(aim).name
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes((site.root / aim).read_bytes())
        return f"{words}({_from(place(document), f'images/{picture.name}')})"
    kind = "tree" if (site.root / aim).is_dir() else "blob"
    return f"{words}({site.repository}/{kind}/main/{aim}{mark}{anchor})"


def _from(page: str, target: str) -> str:
    return os.path.relpath(target, PurePosixPath(page).parent).replace(os.sep, "/")
