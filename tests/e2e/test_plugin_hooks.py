"""The hooks of Ullage's plugins as agents' shells run them: they give back what those of `ullage wire` would, give way
to these, and do no harm without Ullage. And what `wire` and `doctor` do where an agent has the plugin."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command_line import PATIENCE, Ran, ullage
from support.documents import ROOT
from support.hook_place import AGENT, ID, RULE, SUMMARY, TRIES, arrivals_at, end_worker, is_silent, log
from ullage.cli.commands.doctor import plugin_checks
from ullage.cli.hooks.hook_state import HookState

_HOOKS = {
    "claude-code": ROOT / "editors" / "claude-code" / "hooks" / "hooks.json",
    "gemini-cli": ROOT / "editors" / "gemini-cli" / "hooks" / "hooks.json",
}
_SUMMARIZED = {"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY}
_STARTED = {"hook_event_name": "SessionStart", "source": "compact"}
_PROMPTED = {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="POSIX' shell, and where Linux keeps a user's data")


class Home:
    """A home folder with an agent's settings and one transcript, and the plugin's hooks."""

    def __init__(self, folder: Path) -> None:
        self.settings = folder / ".claude" / "settings.json"
        self.state = folder / ".claude.json"
        self.transcript = folder / ".claude" / "projects" / "-shop" / f"{ID}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_bytes(log().data)
        self.settings.write_text("{}")
        self.store = folder / "data" / "ullage" / "sessions.db"
        programs = str(Path(sys.executable).parent)
        self.variables = {
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "CLAUDE_CONFIG_DIR": "",
            "PATH": os.pathsep.join((programs, os.environ["PATH"])),
        }

    def hook(self, said: dict[str, str], path: str | None = None) -> Ran:
        """Runs the plugin's hook of an event, with these programs on PATH if they are given."""
        (group,) = json.loads(_HOOKS[AGENT].read_text())["hooks"][said["hook_event_name"]]
        known = {"session_id": ID, "transcript_path": str(self.transcript)}
        variables = {**os.environ, **self.variables, **({} if path is None else {"PATH": path})}
        return shell(group["hooks"][0]["command"], json.dumps({**known, **said}), variables)

    def wire(self, *arguments: str) -> str:
        ran = ullage("wire", AGENT, "--yes", *arguments, env=self.variables)
        assert (ran.status, ran.err) == (0, "")
        return " ".join(ran.out.split())

    def install(self) -> None:
        """Writes what the agent writes when it installs the plugin."""
        value = json.loads(self.settings.read_text())
        self.settings.write_text(json.dumps({**value, "enabledPlugins": {"ullage@ullage": True}}))

    @property
    def arrivals(self) -> list[Any]:
        return arrivals_at(self.store)

    @property
    def has_server(self) -> bool:
        return self.state.exists() and "ullage" in json.loads(self.state.read_text()).get("mcpServers", {})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    made = Home(tmp_path)
    # For the checks of `doctor`, which run in this process.
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    yield made
    end_worker(HookState(str(made.store), ID).worker())


def shell(command: str, said: str, variables: dict[str, str]) -> Ran:
    ran = subprocess.run(
        ["/bin/sh", "-c", command],
        input=said.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=variables,
    )
    return Ran(status=ran.returncode, out=ran.stdout.decode(), err=ran.stderr.decode())


def test_what_the_summary_leaves_out_is_given_back_once(home: Home) -> None:
    home.install()
    assert home.hook({"hook_event_name": "PreCompact"}).status == 0
    assert is_silent(home.hook(_SUMMARIZED))
    told = [home.hook(said).out for said in (_STARTED, *[_PROMPTED] * TRIES)]
    assert [RULE in text for text in told if text] == [True]
    (check,) = plugin_checks(None)
    assert (check.what, check.remedy, "gave back" in check.found) == ("plugin", "", True)


def test_the_hooks_give_way_to_those_of_wire(home: Home) -> None:
    home.install()
    notes = home.wire()
    assert "claude plugin uninstall" in notes
    for said in ({"hook_event_name": "PreCompact"}, _SUMMARIZED, _STARTED, _PROMPTED):
        assert is_silent(home.hook(said))
    assert home.arrivals == []
    home.settings.write_text("{}")
    assert is_silent(home.hook(_SUMMARIZED))
    assert [row["outcome"] for row in home.arrivals] == ["kept"]


def test_wire_adds_no_second_server_beside_the_plugin_and_doctor_tells_of_one(home: Home) -> None:
    home.wire()
    assert home.has_server
    home.install()
    (check,) = plugin_checks(None)
    assert "twice" in check.found
    assert f"ullage wire {AGENT}" in check.remedy
    home.wire()
    assert not home.has_server
    (check,) = plugin_checks(None)
    assert (check.remedy, "give way" in check.found) == ("", True)
    home.settings.write_text(home.settings.read_text().replace('"ullage@ullage": true', '"ullage@ullage": false'))
    assert [*plugin_checks(None)] == []
    home.wire()
    assert home.has_server


def test_doctor_says_if_the_program_that_the_plugin_runs_is_not_found(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert [*plugin_checks(None)] == []
    home.install()
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = plugin_checks(None)
    assert "is not found" in check.found
    assert "PATH" in check.remedy


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_doctor_tells_of_a_plugin_that_is_on_in_this_project_alone(
    home: Home, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tmp_path / "shop"
    (project / ".claude").mkdir(parents=True)
    monkeypatch.chdir(project)
    assert [*plugin_checks(None)] == []
    settings = project / ".claude" / name
    settings.write_text('{"enabledPlugins": {"ullage@ullage": true}}')
    (check,) = plugin_checks(None)
    assert f"in this project alone, by {settings}" in check.found
    home.install()
    (check,) = plugin_checks(None)
    assert "in this project" not in check.found


@pytest.mark.parametrize("agent", _HOOKS)
@pytest.mark.parametrize("program", ["", "#!/bin/sh\necho half installed >&2\nexit 3\n", "not a program"])
def test_without_ullage_the_hooks_do_nothing_and_say_nothing(tmp_path: Path, agent: str, program: str) -> None:
    variables = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    if program:
        found = tmp_path / ".local" / "bin" / "ullage"
        found.parent.mkdir(parents=True)
        found.write_text(program)
        found.chmod(0o755)
    before = {*tmp_path.rglob("*")}
    for groups in json.loads(_HOOKS[agent].read_text())["hooks"].values():
        for group in groups:
            assert is_silent(shell(group["hooks"][0]["command"], "{}", variables))
    assert {*tmp_path.rglob("*")} == before


def test_a_program_that_is_found_only_where_installers_put_it_runs(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "ullage").symlink_to(Path(sys.executable).with_name("ullage"))
    assert is_silent(home.hook(_SUMMARIZED, str(tmp_path / "bin")))
    assert [row["outcome"] for row in home.arrivals] == ["kept"]
