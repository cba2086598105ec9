"""What Ullage's own sessions cost: a fork has its parent's requests, which are paid once."""

from pathlib import Path

import pytest

from support.build import assistant, user
from ullage.app.compose import open_workspace
from ullage.cli.commands.cost import read_folder_cost
from ullage.model.events import SessionCreated
from ullage.model.settings import Settings
from ullage.model.usage import Usage
from ullage.service.sessions import append, fork_session, new_session


async def test_a_fork_costs_only_what_it_has_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    store = tmp_path / "s.db"
    with open_workspace(store, Settings(model="gpt-4o")) as workspace:
        session = new_session(workspace, SessionCreated(cwd="/project", model="gpt-4o"))
        await append(session, [user("m1"), assistant("m2")], Usage(input_tokens=1_000, output_tokens=10))
        fork = fork_session(workspace, session, None, "")
        await append(fork, [user("m3"), assistant("m4")], Usage(input_tokens=2_000, output_tokens=20))
        cost = read_folder_cost(workspace, store, None, lambda _done, _of: None)
    asked = sorted(one.tokens for own in cost.conversations for one in own.requests)
    assert asked == [1_010, 2_020]
