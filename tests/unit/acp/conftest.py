"""An agent with a store of its own, whose every message must be as the official schema has it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.acp_rig import AcpRig, stored_rig
from ullage.model.settings import Settings

# Its window is known; whatever keys the machine has, it is never asked.
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def rig(store: Path) -> Iterator[AcpRig]:
    rig = stored_rig(store, Settings(model=MODEL, provider="nobody"))
    yield rig
    assert rig.faults == []
