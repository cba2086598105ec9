"""Reads the repository's Markdown documents for tests that compare them with the code."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table_rows(text: str, first_column: str) -> list[dict[str, str]]:
    """The rows of all tables whose first column has this heading, each as heading to cell."""
    rows: list[dict[str, str]] = []
    headings: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            headings = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not headings:
            headings = cells
        elif headings[0] == first_column and set(cells[0]) - set("-: "):
            rows.append(dict(zip(headings, cells, strict=True)))
    return rows


def region(text: str, name: str) -> str:
    """The text between `<!-- name -->` and `<!-- end -->`. Raises `ValueError` if there is no such region."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"there is no region {name!r}")
    return found[1]


def heading_anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
