"""Reads the tables of real agents in the documents, and writes what was measured to them."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from support.agents import scenario, upkeep

DOCUMENT = Path(__file__).resolve().parents[3] / "server" / "PROXY.md"
# What a new row has until all its cells were measured.
_UNKNOWN = "not measured"

Rows = Mapping[str, Mapping[str, str]]


class Table(Struct, frozen=True):
    """A table with a row for each agent, between a comment that marks it and the comment `end`."""

    mark: str
    columns: tuple[str, ...]

    def read(self) -> dict[str, dict[str, str]]:
        """Returns the rows by the agents' titles, each as a mapping from column to cell."""
        found = self._pattern.search(DOCUMENT.read_text("utf-8"))
        assert found is not None
        lines = [line.strip("|").split("|") for line in found[0].splitlines()[2:]]
        cells = [[cell.strip() for cell in line] for line in lines]
        return {title: dict(zip(self.columns, rest, strict=True)) for title, *rest in cells}

    def write(self, title: str, cells: Mapping[str, str]) -> None:
        """Replaces cells in the row of the same package and version of the protocol, or adds a row."""
        known = self.read()
        rows = {other: row for other, row in known.items() if _key(other) != _key(title)}
        rows[title] = dict.fromkeys(self.columns, _UNKNOWN)
        # What was measured of another version of the package is not kept.
        rows[title] |= {**known.get(title, {}), **cells}
        head = ("agent", *self.columns)
        lines = [head, ["---"] * len(head), *self._lines(rows)]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        text = DOCUMENT.read_text("utf-8")
        DOCUMENT.write_text(self._pattern.sub(lambda _: table, text), "utf-8")

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<=<!-- {self.mark} -->\n).*?(?=<!-- end -->)", re.DOTALL)

    def _lines(self, rows: Rows) -> list[list[str]]:
        return [[title, *(rows[title][column] for column in self.columns)] for title in sorted(rows)]


WORKING = Table("measured", tuple(scenario.COLUMNS))
AFTER_COMPACTIONS = Table("measured after compactions", tuple(upkeep.COLUMNS))


def title_of(title: str, version: int) -> str:
    """Returns the title of an agent's row for a version of the protocol."""
    return title if version == 1 else f"{title}, ACP {version}"


def _key(title: str) -> tuple[str, str]:
    return title.split(" ", maxsplit=1)[0], title.partition(",")[2]
