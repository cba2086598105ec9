"""`ullage wire` and `ullage unwire` for agents without hooks in their settings, as real processes: the plugin that is
made, what the user has in its place, and settings with comments."""

import json
from pathlib import Path

import pytest

from support.command_line import Ran, ullage
from ullage.cli.commands.doctor import Check, wiring_checks

_FOLDERS = {"opencode": ".config/opencode", "pi": ".pi/agent"}
_PLUGINS = {"opencode": "plugin/ullage.js", "pi": "extensions/ullage.js"}


class Home:
    """A home folder with the folder of an agent."""

    def __init__(self, folder: Path, word: str) -> None:
        self.word, self._folder = word, folder
        self.agent = folder / _FOLDERS[word]
        self.agent.mkdir(parents=True)
        self.plugin = self.agent / _PLUGINS[word]
        self.store = folder / "sessions.db"

    def run(self, command: str, *arguments: str) -> Ran:
        home = str(self._folder)
        cleared = ("XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME")
        variables = {"HOME": home, "USERPROFILE": home, **dict.fromkeys(cleared, "")}
        return ullage(command, "--store", self.store, *arguments, "--yes", env=variables)

    def done(self, command: str, *arguments: str) -> str:
        ran = self.run(command, self.word, *arguments)
        assert (ran.status, ran.err) == (0, "")
        return ran.out

    @property
    def check(self) -> Check | None:
        """What `ullage doctor` says of the hooks."""
        return next(wiring_checks(self.store), None)

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.agent)) for path in self.agent.rglob("*"))


@pytest.fixture(params=[*_FOLDERS])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Home:
    return Home(tmp_path, request.param)


def test_a_plugin_is_made_with_the_command_of_this_ullage_and_removed_with_its_folder(home: Home) -> None:
    home.done("wire")
    line = next(line for line in home.plugin.read_text().splitlines() if line.startswith("const COMMAND = "))
    words = json.loads(line.removeprefix("const COMMAND = ").removesuffix(";"))
    assert words[-4:] == ["hook", home.word, "--store", str(home.store)]
    assert "already there" in home.done("wire")
    home.done("wire", "--fill-notes")
    assert '"--fill-notes"' in home.plugin.read_text().partition("GIVES_NOTES")[0]
    home.done("unwire")
    assert home.files() == []


def test_a_folder_that_was_there_stays(home: Home) -> None:
    home.plugin.parent.mkdir()
    home.done("wire")
    home.done("unwire")
    assert home.files() == [home.plugin.parent.name]


def test_a_file_of_the_user_in_its_place_is_named_and_left(home: Home) -> None:
    home.plugin.parent.mkdir()
    home.plugin.write_text("export const Mine = async () => ({});\n")
    before = home.files()
    ran = home.run("wire", home.word)
    assert ran.status == 2
    assert f"{home.plugin}: it is not Ullage's" in ran.err
    assert home.files() == before
    assert home.plugin.read_text() == "export const Mine = async () => ({});\n"


def test_a_plugin_that_the_user_changed_is_named_and_left(home: Home) -> None:
    home.done("wire")
    changed = f"{home.plugin.read_text()}// mine\n"
    home.plugin.write_text(changed)
    for command in ("wire", "unwire"):
        ran = home.run(command, home.word)
        assert ran.status == 2
        assert f"{home.plugin}: it was changed after Ullage made it" in ran.err
        assert home.plugin.read_text() == changed
    check = home.check
    assert check is not None
    assert "it was changed" in check.found


def test_doctor_says_that_a_plugin_is_gone_and_it_is_made_again(home: Home) -> None:
    home.done("wire")
    check = home.check
    assert check is not None
    assert (check.remedy, "no hook has arrived yet" in check.found) == ("", True)
    home.plugin.unlink()
    check = home.check
    assert check is not None
    assert f"{home.plugin} no longer has" in check.found
    home.done("wire")
    assert home.plugin.exists()
    home.done("unwire")
    assert home.files() == []


@pytest.mark.parametrize("name", ["opencode.jsonc", "opencode.json", "config.json"])
def test_the_mcp_server_is_added_to_the_settings_that_are_there_and_comments_stay(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path, "opencode")
    path = home.agent / name
    text = '{\n  // The model.\n  "model": "wire/m", /* mine */\n  "mcp": {\n    "docs": {"type": "remote"},\n  },\n}\n'
    path.write_text(text)
    home.done("wire")
    assert {file.name for file in home.agent.iterdir()} == {name, "plugin"}
    wired = path.read_text()
    assert '"type": "local"' in wired
    assert wired.count("//") == 1
    assert "/* mine */" in wired
    home.done("wire", "--no-mcp")
    assert path.read_text() == text
    home.done("wire")
    home.done("unwire")
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text", [None, '{\n  "mcpServers": {\n    "docs": {"url": "https://docs.example/mcp"}\n  }\n}\n']
)
def test_pi_declares_the_tools_of_the_mcp_server_to_its_model(tmp_path: Path, text: str | None) -> None:
    home = Home(tmp_path, "pi")
    path = home.agent / "mcp.json"
    if text is not None:
        path.write_text(text)
    home.done("wire")
    added = json.loads(path.read_text())["mcpServers"]["ullage"]
    assert (added["args"][-3:], added["exposure"]) == (["mcp", "--store", str(home.store)], "direct")
    home.done("unwire")
    assert (path.read_text() if path.exists() else None) == text


def test_a_server_of_the_users_own_stays_as_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path, "opencode")
    path = home.agent / "opencode.json"
    text = '{"mcp": {"ullage": {"type": "local", "command": ["mine"]}}}'
    path.write_text(text)
    home.done("wire")
    assert path.read_text() == text
    home.done("unwire")
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (False, '{\n  "$schema": "https://opencode.ai/config.json",\n'),
        (True, '{\n  // Mine.\n  "$schema": "https://opencode.ai/config.json",\n'),
        (True, '{\n  "model": "wire/m",\n  "$schema": "https://opencode.ai/config.json",\n'),
    ],
    ids=["the schema", "with a comment", "with a setting"],
)
def test_settings_that_wire_made_go_although_the_agent_added_its_schema(tmp_path: Path, kept: bool, text: str) -> None:
    home = Home(tmp_path, "opencode")
    home.done("wire")
    path = home.agent / "opencode.jsonc"
    path.write_text(path.read_text().replace("{\n", text, 1))
    home.done("unwire")
    assert path.exists() is kept
    if kept:
        assert "ullage" not in path.read_text()
        assert text.splitlines()[1] in path.read_text()


def test_a_schema_in_settings_of_the_users_own_stays(tmp_path: Path) -> None:
    home = Home(tmp_path, "opencode")
    path = home.agent / "opencode.json"
    text = '{"$schema": "https://opencode.ai/config.json"}'
    path.write_text(text)
    home.done("wire")
    path.write_text(f"{path.read_text()}\n")
    home.done("unwire")
    assert path.read_text().strip() == text
