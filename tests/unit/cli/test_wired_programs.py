"""What is said of the programs that agents' settings start."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from ullage.agents.table import AGENTS
from ullage.app.agent_wiring import OwnCommand, Receipt, WiredFile, added_to, own_words
from ullage.cli.commands.doctor import GivenProvider, gone_programs, provider_checks, silent_hooks, unsafe_programs
from ullage.model.settings import ProviderSettings
from ullage.store import open_store


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


def _answering(folder: Path, script: str) -> Receipt:
    """The receipt of settings that start a shell's script in place of Ullage."""
    program = folder / "with a space" / "ullage"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    return _receipt(str(program))


def test_the_hook_that_was_added_is_run_and_answers(tmp_path: Path) -> None:
    assert silent_hooks(_receipt(*own_words()), tmp_path / "sessions.db") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's scripts")
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'ullage 0.1 store 9'", ""),
        ("true", "older than this one"),
        ("echo hello", "older than this one"),
        ("echo 'No module named ullage' >&2; exit 1", "No module named ullage"),
        ("exit 3", "exit status 3"),
        ("echo 'ullage 0.1 store 0'", "reads stores up to version 0; the store has version"),
    ],
)
def test_a_hook_that_would_give_nothing_back_is_told(tmp_path: Path, script: str, told: str) -> None:
    store = tmp_path / "sessions.db"
    with open_store(store):
        pass
    said = silent_hooks(_answering(tmp_path, script), store)
    assert told in said
    assert bool(told) == bool(said)


# What `ullage doctor` says of a provider


def test_a_password_in_the_servers_address_is_not_shown() -> None:
    given = {"kind": "openai_chat", "baseUrl": "http://jo:walnut-cake@127.0.0.1:9/v1"}
    settings = msgspec.convert(given, ProviderSettings)
    (check,) = provider_checks(GivenProvider(name="local", settings=settings))
    said = json.dumps(msgspec.to_builtins(check))
    assert "127.0.0.1:9" in said
    assert "walnut-cake" not in said
    assert check.remedy
