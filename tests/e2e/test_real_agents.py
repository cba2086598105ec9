"""Real agents with the real proxy and a provider on the loopback. Each must do what the table in the documents says."""

import asyncio
from pathlib import Path

import pytest

from support.agents.launch import AGENTS, Known
from support.agents.scenario import COLUMNS, measure
from support.agents.table import read_table, write_row
from support.systems import needs_linux

# Those with the most users run with --all, the others with --long.
_ALWAYS = ("claude-agent-acp", "codex-acp")
CASES = [
    pytest.param(agent, id=agent.name, marks=() if agent.name in _ALWAYS else pytest.mark.long) for agent in AGENTS
]
# Each try is up to three processes. CI has two cores.
_AT_ONCE = 2


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("agent", CASES)
@needs_linux
async def test_what_holds_for_an_agent_is_what_the_table_says(
    agent: Known, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not agent.program.exists():
        # Agents are large, and published by others. A machine that cannot get one tests the others.
        pytest.skip(f"{agent.name} is not installed; scripts/rigs/agents.sh gets it")
    room = asyncio.Semaphore(_AT_ONCE)

    async def cell(column: str) -> str:
        async with room:
            return await measure(agent, column, tmp_path / column.replace(" ", "-"))

    row = dict(zip(COLUMNS, await asyncio.gather(*map(cell, COLUMNS)), strict=True))
    if request.config.getoption("--update-golden"):
        write_row(agent.title, agent.title.split(" ")[0], row)
    assert read_table()[agent.title] == row
