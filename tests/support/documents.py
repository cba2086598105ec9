"""Reads the repository's Markdown documents for tests that compare them with the code."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

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


BY_SESSION, BY_REQUEST, RECORDED = "`session/cancel`", "`$/cancel_request`", "recorded"
DOCUMENT = Path(__file__).resolve().parents[2] / "server" / "PROXY.md"


class CancelTable(Struct, frozen=True, kw_only=True):
    """A table between a comment that marks it and the comment `end`. `columns` are the ways to cancel, and what is
    recorded then."""

    mark: str
    states: Sequence[str]
    columns: Sequence[str]

    def read(self) -> dict[str, dict[str, str]]:
        """Returns the rows by state, each as a mapping from column to cell."""
        found = self._pattern.search(DOCUMENT.read_text("utf-8"))
        assert found is not None
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[0].splitlines()[2:]]
        return {state: dict(zip(self.columns, cells, strict=True)) for state, *cells in lines}

    def write(self, state: str, cells: Mapping[str, str]) -> None:
        """Replaces cells in a state's row, or adds the row."""
        rows = {known: dict.fromkeys(self.columns, "") for known in self.states} | self.read()
        rows[state] |= cells
        head = ("the prompt is", *self.columns)
        body = [[known, *(rows[known][column] for column in self.columns)] for known in self.states]
        table = "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *body])
        DOCUMENT.write_text(self._pattern.sub(lambda _: table, DOCUMENT.read_text("utf-8")), "utf-8")

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<=<!-- {self.mark} -->\n).*?(?=<!-- end -->)", re.DOTALL)


def column(way: str, version: int) -> str:
    """Returns the column of a way to cancel in a version of the protocol."""
    return f"{way}, ACP {version}"
