"""`ullage wire` and `ullage unwire` for Codex, whose settings are in JSON and in TOML, as real processes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Ran, ullage
from ullage.cli.commands.doctor import wiring_checks

CONFIG = b'\xef\xbb\xbf# mine\r\nmodel = "gpt-5"\r\n\r\n[mcp_servers.docs] # the docs\r\ncommand = "docs"'
HOOKS = b'{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]}}'


class Home:
    """A home folder with Codex's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "elsewhere"
        self.folder.mkdir()
        self.config, self.hooks = self.folder / "config.toml", self.folder / "hooks.json"
        self.config.write_bytes(CONFIG)
        self.hooks.write_bytes(HOOKS)
        self.store = folder / "sessions.db"

    def run(self, command: str, *arguments: str) -> Ran:
        home = str(self.store.parent)
        variables = {"HOME": home, "USERPROFILE": home, "CODEX_HOME": str(self.folder)}
        return ullage(command, "codex", "--yes", "--store", self.store, *arguments, env=variables)

    def done(self, command: str) -> str:
        ran = self.run(command)
        assert (ran.status, ran.err) == (0, "")
        return " ".join(ran.out.split())

    @property
    def value(self) -> Any:
        return tomllib.loads(self.config.read_bytes().decode("utf-8-sig"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_what_is_added_stands_beside_what_is_there_and_is_taken_out_byte_for_byte(home: Home) -> None:
    told = home.done("wire")
    assert "Trust all and continue" in told
    assert home.config.read_bytes().startswith(CONFIG + b"\r\n\r\n[mcp_servers.ullage]\r\n")
    server = home.value["mcp_servers"]["ullage"]
    assert server["args"][-3:] == ["mcp", "--store", str(home.store)]
    assert server["env_vars"] == ["CODEX_HOME", "XDG_DATA_HOME"]
    # The user's own hook keeps its number, under which Codex knows that it is trusted.
    hooks = json.loads(home.hooks.read_text())["hooks"]
    assert set(hooks) == {"PreCompact", "SessionStart", "UserPromptSubmit"}
    first, ours = hooks["SessionStart"]
    assert (first["hooks"][0]["command"], ours["matcher"]) == ("date", "compact")
    assert "already there" in home.done("wire")
    assert "config.toml is as it was before" in home.done("unwire")
    assert (home.config.read_bytes(), home.hooks.read_bytes()) == (CONFIG, HOOKS)


def test_what_codex_and_the_user_have_written_since_stays(home: Home) -> None:
    home.done("wire")
    # Codex writes LF and no byte order mark, and adds what the user allows.
    text = home.config.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    trust = f'[hooks.state]\n\n[hooks.state."{home.hooks}:session_start:1:0"]\ntrusted_hash = "sha256:00"\n'
    home.config.write_text(f'{text}\n[mcp_servers.ullage.tools.search]\napproval_mode = "approve"\n\n{trust}')
    home.done("unwire")
    before = CONFIG.decode("utf-8-sig").replace("\r\n", "\n")
    assert home.config.read_text() == f"{before}\n\n{trust}"


def test_doctor_says_that_codex_asks_first_and_whether_the_user_has_allowed_it(home: Home, monkeypatch: Any) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home.folder))
    home.done("wire")
    (check,) = [check for check in wiring_checks(home.store) if "Codex" in check.found]
    assert "not allowed yet" in check.found
    assert "Trust all and continue" in check.remedy
    with home.config.open("a") as file:
        for place in ("pre_compact:0:0", "session_start:1:0", "user_prompt_submit:0:0"):
            (check,) = [check for check in wiring_checks(home.store) if "Codex" in check.found]
            assert "not allowed yet" in check.found
            file.write(f'[hooks.state."{home.hooks}:{place}"]\ntrusted_hash = "sha256:00"\n')
            file.flush()
    (check,) = [check for check in wiring_checks(home.store) if "Codex" in check.found]
    assert "no hook has arrived yet" in check.found
    assert check.remedy == ""


@pytest.mark.parametrize("text", ["a = ", "mcp_servers = {}", "mcp_servers = 1", "mcp_servers = { docs = {} }"])
def test_settings_that_cannot_be_changed_are_named_and_left_and_the_others_too(home: Home, text: str) -> None:
    home.config.write_text(text)
    ran = home.run("wire")
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert str(home.config) in ran.err
    assert "nothing was changed" in ran.err
    assert (home.config.read_text(), home.hooks.read_bytes()) == (text, HOOKS)


def test_settings_of_another_folder_are_still_taken_out(home: Home, tmp_path: Path) -> None:
    home.done("wire")
    other = tmp_path / "other"
    other.mkdir()
    first, home.folder = home.folder, other
    home.done("wire")
    assert (other / "hooks.json").exists()
    home.done("unwire")
    assert [*other.iterdir()] == []
    assert (first / "config.toml").read_bytes() == CONFIG
