"""Real agents with the real proxy and a provider on the loopback. Each must do what the table in the documents says."""

import asyncio
from pathlib import Path

import pytest

from support.agents import upkeep
from support.agents.launch import AGENTS, Known
from support.agents.model_server import ModelServer
from support.agents.scenario import COLUMNS, YES, Place, measure
from support.agents.table import AFTER_COMPACTIONS, WORKING, title_of
from support.systems import needs_linux

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
    if not agent.program.exists():
        # Agents are large, and published by others. A machine that cannot get one tests the others.
        pytest.skip(f"{agent.name} is not installed; scripts/rigs/agents.sh gets it")
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
    if not agent.program.exists():
        pytest.skip(f"{agent.name} is not installed; scripts/rigs/agents.sh gets it")
    async with ModelServer().serving() as model:
        place = Place(model=model, launch=agent.launch(tmp_path / "home", model.url), folder=tmp_path)
        cell = await upkeep.COLUMNS[column](place)
    if request.config.getoption("--update-golden"):
        AFTER_COMPACTIONS.write(agent.title, {column: cell})
    assert AFTER_COMPACTIONS.read()[agent.title][column] == cell
    # No table excuses what these two have always done.
    assert cell == YES or agent.name not in _ALWAYS
