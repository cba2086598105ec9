"""The command by which an agent starts Ullage."""

import subprocess
import sys
from pathlib import Path

import pytest

from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS
from ullage.agents.wiring import SettingsFile
from ullage.app.agent_wiring import OwnCommand, added_to, own_words, started_by

_WIRED = [(agent, file) for agent in AGENTS if agent.wiring for file in agent.wiring.files]


@pytest.mark.parametrize(("agent", "file"), _WIRED, ids=[f"{agent.name} {file.syntax}" for agent, file in _WIRED])
def test_the_words_that_start_ullage_are_found_in_whatever_is_added(agent: Agent, file: SettingsFile) -> None:
    assert agent.wiring is not None
    added = added_to(file, agent.wiring.word, OwnCommand(words=("/a b/python", "-m", "ullage")), "")
    assert {*started_by(added)} == {("/a b/python", "-m", "ullage")}


def test_a_module_of_the_folder_is_not_run_where_python_starts_ullage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    (tmp_path / "ullage.py").write_text("print('a module of the folder')\n", "utf-8")
    words = own_words()
    assert words[0] == sys.executable
    said = subprocess.run([*words, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith("ullage ")
