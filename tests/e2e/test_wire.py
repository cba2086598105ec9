"""`ullage wire` and `ullage unwire` as real processes: what they change, what they ask, and what they leave alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command_line import PATIENCE, Ran, ullage
from ullage.cli.commands.doctor import Check, wiring_checks

AGENT = "claude-code"


class Home:
    """A home folder with an agent's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ".claude" / "settings.json"
        self.path.parent.mkdir()
        self.state = folder / ".claude.json"
        self.store = folder / "sessions.db"

    def run(self, command: str, *arguments: str) -> Ran:
        return ullage(command, "--store", self.store, *arguments, env=self.variables)

    @property
    def variables(self) -> dict[str, str]:
        home = str(self.folder)
        return {"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}

    def done(self, command: str, *arguments: str) -> str:
        ran = self.run(command, AGENT, "--yes", *arguments)
        assert (ran.status, ran.err) == (0, "")
        return ran.out

    @property
    def value(self) -> Any:
        return json.loads(self.path.read_text())

    def hooks_check(self) -> Check | None:
        """What `ullage doctor` says of the hooks. Its other checks take seconds."""
        return next(wiring_checks(self.store), None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_nothing_is_changed_without_a_yes(home: Home) -> None:
    home.path.write_text("{}")
    ran = home.run("wire", AGENT)
    assert ran.status == 2
    told = " ".join(ran.out.split())
    assert told.startswith("Claude Code gets back what a compaction leaves out (4 hooks) and can search its own ")
    assert "settings.json" in told
    assert "--yes" in ran.err
    assert home.path.read_text() == "{}"
    assert "nothing was added" in home.run("unwire").out


def test_an_agent_whose_folder_cannot_be_looked_for_keeps_no_other_from_being_wired(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a folder in one that the user may not read, also for a superuser.
    monkeypatch.setattr(Home, "variables", home.variables | {"CODEX_HOME": str(home.folder / ("x" * 300))})
    home.path.write_text("{}")
    assert home.run("wire", "--yes").status == 0
    assert home.value["hooks"]
    assert home.run("unwire", "--yes").status == 0


def test_an_agent_with_a_plugin_is_said_to_get_back_what_a_compaction_leaves_out(home: Home) -> None:
    (home.folder / ".pi" / "agent").mkdir(parents=True)
    told = " ".join(home.run("wire", "pi").out.split())
    assert told.startswith("pi gets back what a compaction leaves out (a plugin) and can search its own ")


def test_settings_that_are_not_there_are_made_and_removed_again(home: Home) -> None:
    home.done("wire")
    assert set(home.value["hooks"]) == {"PreCompact", "SessionStart", "SubagentStop", "UserPromptSubmit"}
    assert json.loads(home.state.read_text())["mcpServers"]["ullage"]["args"][-3:] == [
        "mcp",
        "--store",
        str(home.store),
    ]
    assert "already there" in home.done("wire")
    home.done("unwire")
    assert not home.path.exists()
    assert not home.state.exists()


def test_the_mcp_server_is_left_out_or_taken_out_on_demand_and_one_of_the_users_stays(home: Home) -> None:
    home.done("wire", "--no-mcp")
    assert not home.state.exists()
    home.done("wire")
    home.done("wire", "--no-mcp")
    assert not home.state.exists()
    own = '{"mcpServers": {"ullage": {"command": "mine"}}}'
    home.state.write_text(own)
    home.done("wire")
    assert home.state.read_text() == own
    home.done("unwire")
    assert home.state.read_text() == own


def test_notes_of_the_fill_are_added_only_if_they_are_asked_for(home: Home) -> None:
    def commands() -> set[str]:
        return {group["hooks"][0]["command"] for groups in home.value["hooks"].values() for group in groups}

    home.done("wire", "--fill-notes")
    assert "Stop" in home.value["hooks"]
    assert all(" --fill-notes" in command for command in commands())
    home.done("wire")
    assert "Stop" not in home.value["hooks"]
    assert not any(" --fill-notes" in command for command in commands())
    home.done("unwire")
    assert not home.path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_a_link_stays_a_link_and_the_mode_stays(home: Home) -> None:
    real = home.folder / "dotfiles.json"
    real.write_bytes(b'\xef\xbb\xbf{\r\n\t"model": "opus"\r\n}\r\n')
    real.chmod(0o640)
    home.path.symlink_to(real)
    before = real.read_bytes()
    home.done("wire", "--statusline")
    assert home.path.is_symlink()
    assert b'\r\n\t\t"SessionStart"' in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert f"{home.path} is as it was before" in " ".join(home.done("unwire").split())
    assert home.path.is_symlink()
    assert real.read_bytes() == before


def test_taking_out_names_every_file_also_one_that_was_written_to_since(home: Home) -> None:
    home.done("wire")
    home.state.write_text(json.dumps({"numStartups": 3, **json.loads(home.state.read_text())}))
    told = home.done("unwire")
    assert f"{home.path} is as it was before." in told
    assert f"{home.state} has all else that was written to it since." in told
    assert json.loads(home.state.read_text())["numStartups"] == 3


def test_what_the_user_changed_since_stays(home: Home) -> None:
    line = {"type": "command", "command": "date"}
    home.path.write_text(json.dumps({"statusLine": line}, indent=2))
    home.done("wire", "--statusline")
    assert home.value["statusLine"]["command"].endswith("|| eval date")
    changed = {**home.value, "model": "opus", "statusLine": {**line, "command": "uptime"}}
    home.path.write_text(json.dumps(changed))
    # The newer command is the one that is chained.
    home.done("wire", "--statusline")
    assert home.value["statusLine"]["command"].endswith("|| eval uptime")
    home.done("unwire")
    assert home.value == {"statusLine": {**line, "command": "uptime"}, "model": "opus"}


@pytest.mark.parametrize("text", ["{", '{"hooks": []}', "[]", '{"hooks": {"SessionStart": 1}}'])
def test_settings_that_cannot_be_changed_are_named_and_left(home: Home, text: str) -> None:
    home.path.write_text(text)
    ran = home.run("wire", AGENT, "--yes")
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert str(home.path) in ran.err
    assert "nothing was changed" in ran.err
    assert home.path.read_text() == text


def test_settings_of_one_agent_that_cannot_be_changed_are_told_after_the_others_have_been(home: Home) -> None:
    broken = home.folder / ".codex" / "hooks.json"
    broken.parent.mkdir()
    broken.write_text("{")
    ran = home.run("wire", "--yes")
    assert (ran.status, "Added to Claude Code" in ran.out) == (2, True)
    assert f"Codex: {broken}" in ran.err
    assert "SessionStart" in home.value["hooks"]


def test_an_agent_that_is_not_here_stops_none_of_the_others(home: Home) -> None:
    for words in (["opencode", AGENT], [AGENT, "wordstar"]):
        home.path.write_text("{}")
        ran = home.run("wire", *words, "--yes")
        assert (ran.status, "Added to Claude Code" in ran.out) == (2, True)
        assert any(word in ran.err for word in ("opencode: there is no folder", "wordstar: Ullage can't"))
        assert "SessionStart" in home.value["hooks"]
        home.done("unwire")


def test_an_agent_that_is_not_known_or_not_here_is_named(home: Home) -> None:
    assert "known: claude-code" in home.run("wire", "wordstar", "--yes").err
    home.path.parent.rmdir()
    assert home.run("wire", "--yes").status == 2
    assert "there is no folder" in home.run("wire", AGENT, "--yes").err


def test_doctor_says_what_was_added_and_what_is_missing(home: Home) -> None:
    home.done("wire")
    check = home.hooks_check()
    assert check is not None
    assert (check.remedy, "no hook has arrived yet" in check.found) == ("", True)
    home.path.write_text("{}")
    check = home.hooks_check()
    assert check is not None
    assert check.remedy == f"add it again: ullage wire {AGENT} --store {home.store}"
    home.done("wire")
    home.done("unwire")
    assert home.hooks_check() is None


@pytest.mark.skipif(sys.platform == "win32", reason="a program of POSIX")
def test_doctor_says_that_the_program_which_was_added_is_gone_until_it_is_added_again(home: Home) -> None:
    program = home.folder / "server-1a2b" / "bin" / "ullage"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom ullage.cli.main import main\n\nsys.exit(main())\n")
    program.chmod(0o755)
    wire = ["wire", AGENT, "--yes", "--statusline", "--fill-notes", "--store", str(home.store)]
    subprocess.run(
        [str(program), *wire], env={**os.environ, **home.variables}, capture_output=True, timeout=PATIENCE, check=True
    )
    assert str(program) in home.value["statusLine"]["command"]
    # What time changes is to be seen without a message.
    assert home.value["statusLine"]["refreshInterval"] == 60
    check = home.hooks_check()
    assert (check and check.remedy) == ""
    program.write_text("#!/bin/sh\nexit 1\n")
    check = home.hooks_check()
    assert check is not None
    assert f"`{program}` no longer starts Ullage" in check.found
    program.unlink()
    check = home.hooks_check()
    assert check is not None
    assert f"{program} is no longer there, so nothing is given back" in check.found
    _, _, command = check.remedy.partition(": ullage ")
    assert command == f"wire {AGENT} --statusline --fill-notes --store {home.store}"
    assert home.run(*command.split(), "--yes").status == 0
    check = home.hooks_check()
    assert (check and check.remedy) == ""
    assert str(program) not in home.path.read_text() + home.state.read_text()
    home.done("unwire")
    assert not home.path.exists()


def test_doctor_says_that_an_agent_is_gone(home: Home) -> None:
    home.done("wire")
    shutil.rmtree(home.path.parent)
    check = home.hooks_check()
    assert check is not None
    assert "are gone" in check.found
    assert f"ullage unwire {AGENT}" in check.remedy
    home.done("unwire")
    assert home.hooks_check() is None
