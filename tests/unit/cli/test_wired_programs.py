"""What is said of the programs that agents' settings start."""

import sys
from pathlib import Path

import pytest

from ullage.agents.table import AGENTS
from ullage.app.agent_wiring import OwnCommand, Receipt, WiredFile, added_to, own_words
from ullage.cli.health_checks import gone_programs, unsafe_programs


def _receipt(*words: str) -> Receipt:
    """The receipt of settings in which these words start Ullage."""
    wiring = next(agent.wiring for agent in AGENTS if agent.wiring and agent.wiring.word == "claude-code")
    added = added_to(wiring.files[0], wiring.word, OwnCommand(words=words), "")
    return Receipt(agent="Claude Code", files=(WiredFile(path="settings.json", added=added, before=None, after=b""),))


def test_settings_that_would_run_a_module_of_a_project_are_told_and_do_not_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ullage.py").write_text("open('ran', 'w')\n", "utf-8")
    receipt = _receipt(sys.executable, "-m", "ullage")
    told = [f"`{sys.executable} -m ullage` would run a module `ullage` of a project"]
    assert ([*gone_programs(receipt)], [*unsafe_programs(receipt)]) == ([], told)
    assert not (tmp_path / "ran").exists()


def test_nothing_is_told_of_settings_as_they_are_written_now() -> None:
    assert [*unsafe_programs(_receipt(*own_words()))] == []
