"""Reads the table of real agents in the documents, and writes the measured rows to it."""

import re
from collections.abc import Mapping
from pathlib import Path

from support.agents.scenario import COLUMNS

DOCUMENT = Path(__file__).resolve().parents[3] / "server" / "PROXY.md"
_HEAD = ("agent", *COLUMNS)
_TABLE = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)

Rows = Mapping[str, Mapping[str, str]]


def read_table() -> dict[str, dict[str, str]]:
    """Returns the rows by the agents' titles, each as a mapping from column to cell."""
    found = _TABLE.search(DOCUMENT.read_text("utf-8"))
    assert found is not None
    lines = [line.strip("|").split("|") for line in found[0].splitlines()[2:]]
    cells = [[cell.strip() for cell in line] for line in lines]
    return {title: dict(zip(COLUMNS, rest, strict=True)) for title, *rest in cells}


def title_of(title: str, version: int) -> str:
    """Returns the title of an agent's row for a version of the protocol."""
    return title if version == 1 else f"{title}, ACP {version}"


def write_row(title: str, row: Mapping[str, str]) -> None:
    """Replaces the row of the same package and version of the protocol by a new one, or adds the row at the end."""
    rows = {known: cells for known, cells in read_table().items() if _key(known) != _key(title)} | {title: dict(row)}
    table = "".join(f"| {' | '.join(line)} |\n" for line in [_HEAD, ["---"] * len(_HEAD), *_lines(rows)])
    text = DOCUMENT.read_text("utf-8")
    DOCUMENT.write_text(_TABLE.sub(lambda _: table, text), "utf-8")


def _key(title: str) -> tuple[str, str]:
    return title.split(" ", maxsplit=1)[0], title.partition(",")[2]


def _lines(rows: Rows) -> list[list[str]]:
    return [[title, *(rows[title][column] for column in COLUMNS)] for title in sorted(rows)]
