"""A prompt behind the proxy that is cancelled, in every state and in every way: what the client gets and what is
recorded is what the table in the documents says, and the next prompt reaches the agent's session."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from support.cancel_table import BY_REQUEST, BY_SESSION, RECORDED, CancelTable, column
from support.proxied_states import PROXIED_STATES, Proxied, ProxiedState, Reached, proxied
from support.proxy_play import playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
COLUMNS = [column(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)]
TABLE = CancelTable(mark="cancelled behind the proxy", states=tuple(PROXIED_STATES), columns=(*COLUMNS, RECORDED))

Opens = Callable[[int, ProxiedState], AbstractAsyncContextManager[tuple[Proxied, Reached]]]


@pytest.fixture
def opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opens:
    return partial(proxied, tmp_path, monkeypatch)


@pytest.mark.parametrize(("way", "version"), [(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)])
@pytest.mark.parametrize("name", PROXIED_STATES)
async def test_a_cancelled_prompt_ends_as_the_table_says_and_the_next_reaches_the_agent(
    name: str, way: str, version: int, opens: Opens, request: pytest.FixtureRequest
) -> None:
    state = PROXIED_STATES[name]
    async with opens(version, state) as (found, reached):
        cells = {column(way, version): await found.outcome(way, reached), RECORDED: await found.recorded()}
        if not reached.is_turn:
            # The agent's answer comes too late.
            found.agent.answers(reached.work, sessionId="late")
        await found.runs_next(is_lost=state.is_lost)
    if request.config.getoption("--update-golden"):
        TABLE.write(name, cells)
    assert cells.items() <= TABLE.read()[name].items()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", PROXIED_STATES)
async def test_a_client_that_leaves_finds_the_same_recorded_and_can_continue(
    name: str, version: int, opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opens(version, PROXIED_STATES[name]):
        pass
    async with playing(tmp_path, monkeypatch) as play:
        again = Proxied(play, version)
        await again.reopen()
        assert await again.recorded() == TABLE.read()[name][RECORDED]
        await again.runs_next()
