"""An agent with a store of its own. Every message that it sends must fit the official schema."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.acp_rig import AcpRig, MakeRig, stored_rig
from ullage.model.settings import Settings

# The model's window is known. The model is never asked, whatever keys the machine has.
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def make_rig(store: Path) -> AsyncGenerator[MakeRig]:
    rigs: list[AcpRig] = []

    def make(settings: Settings) -> AcpRig:
        rigs.append(stored_rig(store, settings))
        return rigs[-1]

    yield make
    for rig in rigs:
        await rig.hang_up()
        assert rig.faults == []


@pytest.fixture
def rig(make_rig: MakeRig) -> AcpRig:
    return make_rig(Settings(model=MODEL, provider="nobody"))
