"""An agent with a store of its own. Every message that it sends must fit the official schema."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.acp_rig import AcpRig, stored_rig
from ullage.model.settings import Settings

# The model's window is known. The model is never asked, whatever keys the machine has.
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def rig(store: Path) -> Iterator[AcpRig]:
    rig = stored_rig(store, Settings(model=MODEL, provider="nobody"))
    yield rig
    assert rig.faults == []
