"""An agent with a store of its own. Every message that it sends must fit the official schema."""

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import pytest

from support.acp_rig import AcpRig, MakeRig, stored_rig
from support.playing_rig import rigs_by
from ullage.model.settings import Settings

# The model's window is known. The model is never asked, whatever keys the machine has.
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def make_rig(store: Path) -> AsyncGenerator[MakeRig]:
    async with rigs_by(partial(stored_rig, store)) as make:
        yield make


@pytest.fixture
def rig(make_rig: MakeRig) -> AcpRig:
    return make_rig(Settings(model=MODEL, provider="nobody"))
