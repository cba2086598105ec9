"""The command by which an agent starts Ullage."""

import pytest

from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS
from ullage.agents.wiring import SettingsFile
from ullage.app.own_command import OwnCommand, added_to, started_by

_WIRED = [(agent, file) for agent in AGENTS if agent.wiring for file in agent.wiring.files]


@pytest.mark.parametrize(("agent", "file"), _WIRED, ids=[f"{agent.name} {file.syntax}" for agent, file in _WIRED])
def test_the_words_that_start_ullage_are_found_in_whatever_is_added(agent: Agent, file: SettingsFile) -> None:
    assert agent.wiring is not None
    added = added_to(file, agent.wiring.word, OwnCommand(words=("/a b/python", "-m", "ullage")), "")
    assert {*started_by(added)} == {("/a b/python", "-m", "ullage")}
