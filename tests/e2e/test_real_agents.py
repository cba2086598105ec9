"""Real agents with the real proxy and a provider on the loopback. Each must do what the table in the documents says."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct

from support.agents import scenario, upkeep
from support.agents.launch import AGENTS, Known, need
from support.agents.model_server import ModelServer
from support.agents.scenario import COLUMNS, YES, Place, measure
from support.systems import needs_linux

DOCUMENT = Path(__file__).resolve().parents[2] / "server" / "PROXY.md"
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


# Those with the most users run with --all, the others with --long.
_ALWAYS = ("claude-agent-acp", "codex-acp")
CASES = [
    pytest.param(agent, 1, id=agent.name, marks=() if agent.name in _ALWAYS else pytest.mark.long) for agent in AGENTS
] + [
    pytest.param(agent, 2, id=f"{agent.name}, version 2", marks=pytest.mark.long)
    for agent in AGENTS
    if agent.name in _ALWAYS
]
# Each try is up to three processes. CI has two cores.
_AT_ONCE = 2


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize(("agent", "version"), CASES)
@needs_linux
async def test_what_holds_for_an_agent_is_what_the_table_says(
    agent: Known, version: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    need(agent)
    room = asyncio.Semaphore(_AT_ONCE)

    async def cell(column: str) -> str:
        async with room:
            return await measure(agent, column, tmp_path / column.replace(" ", "-"), version)

    row = dict(zip(COLUMNS, await asyncio.gather(*map(cell, COLUMNS)), strict=True))
    if request.config.getoption("--update-golden"):
        WORKING.write(title_of(agent.title, version), row)
    assert WORKING.read()[title_of(agent.title, version)] == row


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
@pytest.mark.parametrize("column", upkeep.COLUMNS)
@needs_linux
async def test_compactions_leave_nothing_in_an_agent_and_are_recorded_whole(
    agent: Known, column: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    need(agent)
    async with ModelServer().serving() as model:
        place = Place(model=model, launch=agent.launch(tmp_path / "home", model.url), folder=tmp_path)
        cell = await upkeep.COLUMNS[column](place)
    if request.config.getoption("--update-golden"):
        AFTER_COMPACTIONS.write(agent.title, {column: cell})
    assert AFTER_COMPACTIONS.read()[agent.title][column] == cell
    # No table excuses what these two have always done.
    assert cell == YES or agent.name not in _ALWAYS
