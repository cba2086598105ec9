"""What Sphinx reads to make the site: `./scripts/docs OUT`. Documents are read where they are in the repository."""

import re
import tomllib
from functools import partial
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_LINK = re.compile(r"(?<!!)(\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")
# The headings of the navigation, each with its pages.
_NAVIGATION = {
    "Start": ("install", "figure", "command-line"),
    "With your agents": (
        *("agents", "given-back", "status-lines", "mcp"),
        *("/editors/claude-code/README", "/editors/gemini-cli/README", "/server/PROXY"),
    ),
    "In your editor": (
        *("editors", "first-minutes", "/editors/vscode/README", "/editors/nvim/README"),
        *("zed", "jetbrains", "emacs", "helix", "/editors/README"),
    ),
    "Reference": ("settings", "models", "embedding", "adapters", "cookbook", "/protocol/README", "postgresql"),
    "Measured": ("/docs/item_types", "/docs/reliability", "comparison"),
    "Inside": ("/server/ARCHITECTURE", "/docs/glossary", "/docs/RELEASE", "/docs/CHANGELOG"),
}

project = html_title = _PROJECT["name"].capitalize()
root_doc = "docs/guide/index"
include_patterns = [
    f"{root_doc}.md",
    *(f"{page[1:] if page[0] == '/' else f'docs/guide/{page}'}.md" for pages in _NAVIGATION.values() for page in pages),
]
exclude_patterns = ["**/node_modules", ".*"]
extensions = ["myst_parser"]
# Pages name headings of other pages as GitHub does.
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = html_show_sphinx = False
# The licence is named in the README.
html_show_copyright = False
# Examples of the protocol leave parts out, so they are not always JSON.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    """Adds the navigation to the front page, and to the site a first page that leads to it. Has links to files that are
    no pages lead to the repository."""
    app.connect("source-read", _read)
    app.connect("build-finished", _finish)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = _LINK.sub(partial(_to_repository, app, page), source[0])
    if page == root_doc:
        for heading, pages in _NAVIGATION.items():
            source[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```\n"])


def _to_repository(app: Sphinx, page: str, match: re.Match[str]) -> str:
    words, link, anchor = match.groups(default="")
    target = (ROOT / page).parent.joinpath(link).resolve()
    if "://" in link or not target.exists() or app.env.path2doc(str(target)) in app.env.found_docs:
        return match.group()
    kind = "tree" if target.is_dir() else "blob"
    address = f"{_PROJECT['urls']['Repository']}/{kind}/main/{target.relative_to(ROOT).as_posix()}"
    return f"{words}({address}{anchor})"


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        moved = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (app.outdir / "index.html").write_text(moved, encoding="utf-8")
