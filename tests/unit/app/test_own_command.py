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


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("Codex", "C:\\b\\ullage.exe hook codex", " 2>nul || exit /b 0"),
        ("Gemini CLI", "try { & 'C:/b/ullage.exe' 'hook'", "catch { }; exit 0"),
        ("Claude Code", "C:/b/ullage.exe hook claude-code", " 2>/dev/null ||:"),
    ],
)
def test_on_windows_a_hook_is_written_for_the_shell_that_its_agent_runs(name: str, begins: str, ends: str) -> None:
    agent = next(agent for agent in AGENTS if agent.name == name)
    assert agent.wiring is not None
    file = next(file for file in agent.wiring.files if file.hooks)
    own = OwnCommand(words=("C:/b/ullage.exe",), shell=agent.wiring.windows_shell)
    hooks = added_to(file, agent.wiring.word, own, None).hooks
    assert {(hook.command[: len(begins)], hook.command[-len(ends) :]) for hook in hooks} == {(begins, ends)}
