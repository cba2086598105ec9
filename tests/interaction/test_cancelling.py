"""A prompt to Ullage's own agent that is cancelled, in every state and in every way: what the client gets and what is
recorded is what the table in the documents says, and the next prompt is answered."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.cancel_table import BY_REQUEST, BY_SESSION, RECORDED, CancelTable, column
from support.prompt_states import AGENT_STATES, CancelRig, PromptState, next_rig

COLUMNS = [column(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)]
TABLE = CancelTable(mark="cancelled in the agent", states=tuple(AGENT_STATES), columns=(*COLUMNS, RECORDED))


@asynccontextmanager
async def reached(folder: Path, state: PromptState, version: int) -> AsyncGenerator[tuple[CancelRig, int]]:
    """Yields a rig with a prompt in this state, and the id of the request. In the end nothing is at work."""
    rig = CancelRig(folder, state, version)
    await rig.open()
    yield rig, await state.reach(rig)
    await rig.hang_up()
    assert rig.faults == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("way", [BY_SESSION, BY_REQUEST])
@pytest.mark.parametrize("name", AGENT_STATES)
async def test_a_cancelled_prompt_ends_as_the_table_says_and_the_next_is_answered(
    name: str, way: str, version: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with reached(tmp_path, AGENT_STATES[name], version) as (rig, asked):
        rig.cancel(way, asked)
        cells = {column(way, version): await rig.outcome(way, asked), RECORDED: await rig.recorded()}
        assert await rig.is_whole()
        rig.sent.clear()
        await rig.prompt(rig.session_id, "next")
        await rig.until(lambda _: rig.text().endswith("Next."))
    if request.config.getoption("--update-golden"):
        TABLE.write(name, cells)
    assert cells.items() <= TABLE.read()[name].items()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", AGENT_STATES)
async def test_a_client_that_leaves_finds_the_same_recorded_and_can_continue(
    name: str, version: int, tmp_path: Path
) -> None:
    async with reached(tmp_path, AGENT_STATES[name], version) as (rig, _):
        await rig.connection.drain(1)
        assert rig.connection.unfinished() == 0
    again = next_rig(tmp_path, rig)
    await again.resume()
    assert await again.recorded() == TABLE.read()[name][RECORDED]
    await again.prompt(rig.session_id, "next")
    await again.until(lambda _: again.text().endswith("Next."))
    await again.hang_up()


@pytest.mark.parametrize("version", [1, 2])
async def test_cancelling_stops_a_compaction_after_the_answer(version: int, tmp_path: Path) -> None:
    state = AGENT_STATES["waiting for a compaction"]
    after = PromptState(script=f"say: One. {'more ' * 500}\n---\n{state.script}", reach=_answered, is_long=True)
    async with reached(tmp_path, after, version) as (rig, _):
        await rig.update(rig.session_id, "compaction_update")
        rig.notify("session/cancel", sessionId=rig.session_id)
        await rig.until(lambda _: rig.updates("compaction_update")[-1]["status"] == "cancelled")
        assert await rig.recorded() == "the prompt, what was answered"
        assert await rig.is_whole()


async def _answered(rig: CancelRig) -> int:
    asked = rig.begins("Hello")
    await rig.answer(asked)
    return asked
