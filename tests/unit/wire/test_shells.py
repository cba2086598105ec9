"""Command lines of hooks, for POSIX shells, PowerShell and cmd."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.systems import needs_signals
from ullage.agents.table import AGENTS
from ullage.agents.wiring import Shell
from ullage.app import agent_wiring
from ullage.app.agent_wiring import AgentWiring, hook_lines, own_words, started_by
from ullage.wire.shells import joined, loud, shell_of, silent, to_run, words_in

SHELLS: tuple[Shell, ...] = ("sh", "powershell", "cmd")
NASTY = ("a b", "it's", "$HOME", "`x`", "a;b", "a&b", "(x86)", "é", "--store", "C:/x/y", "100 of 100")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_words_of_a_line_come_back(shell: Shell) -> None:
    program = "C:\\Program Files (x86)\\a & ^b\\ullage.exe" if shell == "cmd" else "C:/Program Files (x86)/ullage.exe"
    line = silent((program, *NASTY), shell)
    assert shell_of(line) == shell
    assert words_in(line) == [program, *NASTY]


def test_each_shell_has_its_quotes() -> None:
    words = ("C:/a b/ullage.exe", "hook", "it's $HOME")
    assert joined(words, "powershell") == "'C:/a b/ullage.exe' 'hook' 'it''s $HOME'"
    assert joined(words, "cmd") == '2>nul cd /d C:\\a b&& ullage.exe hook "it\'s $HOME"'
    assert joined(("C:/b/ullage.exe", "hook"), "cmd") == "C:\\b\\ullage.exe hook"
    assert silent(("u", "hook"), "powershell") == "try { & 'u' 'hook' 2>$null } catch { }; exit 0"
    assert silent(("u", "hook"), "cmd") == "u hook 2>nul || exit /b 0"


@needs_signals
def test_a_line_for_a_posix_shell_gives_each_word_as_it_is_and_fails_in_silence(tmp_path: Path) -> None:
    shown = "import sys, json; print(json.dumps(sys.argv[1:]))"
    line = silent((sys.executable, "-c", shown, *NASTY))
    ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True)
    assert json.loads(ran.stdout) == [*NASTY]
    gone = subprocess.run(["/bin/sh", "-c", silent((str(tmp_path / "gone"),))], capture_output=True, check=True)
    assert (gone.stdout, gone.stderr) == (b"", b"")


def test_a_line_is_run_with_its_errors_by_its_shell() -> None:
    assert to_run(silent(("u", "hook")), has_sh=True) == ["/bin/sh", "-c", "u hook"]
    assert to_run(silent(("u", "hook")), has_sh=False) == ["u", "hook"]
    assert to_run(silent(("u", "hook"), "powershell"), has_sh=False)[-2:] == ["-Command", "& 'u' 'hook'"]
    assert to_run(silent(("u", "hook"), "cmd"), has_sh=False) == ["cmd.exe", "/d", "/c", "u hook"]
    assert loud("true") == "true"


@pytest.mark.parametrize(("word", "shell"), [("gemini", "powershell"), ("qwen", "powershell"), ("claude-code", "sh")])
def test_on_windows_an_agent_gets_the_line_for_its_shell_and_loses_it_again(
    word: str, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in ("CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "QWEN_HOME")]:
        monkeypatch.delenv(name, raising=False)
    wired = next(agent.wiring for agent in AGENTS if agent.wiring and agent.wiring.word.startswith(word))
    here = agent_wiring._this_machine  # pyright: ignore[reportPrivateUsage]
    agent_wiring.folder_here(wired).mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(agent_wiring.sys, "platform", "win32")
    wiring = AgentWiring(tmp_path / "sessions.db")
    (change,) = wiring.add([wired.word], status_line=None, fill_notes=None)
    wiring.make(change)
    assert change.receipt is not None
    added = change.receipt.files[0].added
    assert {shell_of(line) for line in hook_lines(added)} == {shell}
    assert {*started_by(added)} == {own_words()}
    text = Path(change.path).read_text("utf-8")
    assert ('"shell": "powershell"' in text) == (word == "qwen")
    (change,) = wiring.take_out([wired.word])
    wiring.make(change)
    assert not Path(change.path).exists()
    assert here().home == str(tmp_path)
