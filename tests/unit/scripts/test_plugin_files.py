"""Ullage as a plugin of agents: what the manifests say is true, the same everywhere, and what the agents' loaders take.
That they are what would be generated now is held by `scripts/gen_protocol.py --check`."""

import json
from typing import Any

import pytest

from support.documents import ROOT
from ullage import __version__
from ullage.agents.claude_code import WIRING as CLAUDE_CODE
from ullage.agents.gemini_cli import WIRING as GEMINI_CLI
from ullage.agents.wiring import Wiring
from ullage.cli.command_line import build_parser


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


MARKETPLACE = read(".claude-plugin/marketplace.json")
(LISTED,) = MARKETPLACE["plugins"]
PLUGIN = read("editors/claude-code/.claude-plugin/plugin.json")
EXTENSION = read("editors/gemini-cli/gemini-extension.json")


def test_all_manifests_have_one_name_one_version_and_one_description() -> None:
    said = {(each["name"], each["version"], each["description"]) for each in (LISTED, PLUGIN, EXTENSION)}
    assert said == {("ullage", __version__, MARKETPLACE["description"])}


def test_the_marketplace_lists_a_folder_of_this_repository() -> None:
    # A source that does not begin so is taken for a repository of another place.
    assert LISTED["source"].startswith("./")
    assert (ROOT / LISTED["source"] / ".claude-plugin" / "plugin.json").is_file()


def test_both_plugins_start_the_same_server() -> None:
    servers = [each["mcpServers"] for each in (read("editors/claude-code/.mcp.json"), EXTENSION)]
    assert servers == [{"ullage": {"command": "ullage", "args": ["mcp"]}}] * 2
    assert build_parser().parse_args(servers[0]["ullage"]["args"]).module == "mcp"


@pytest.mark.parametrize(("folder", "wiring"), [("claude-code", CLAUDE_CODE), ("gemini-cli", GEMINI_CLI)])
def test_a_plugin_has_the_hooks_that_wire_adds_without_options(folder: str, wiring: Wiring) -> None:
    hooks = read(f"editors/{folder}/hooks/hooks.json")["hooks"]
    places = [place for place in wiring.files[0].hooks if not place.for_notes]
    assert [*hooks] == [place.event for place in places]
    for place in places:
        (group,) = hooks[place.event]
        (hook,) = group["hooks"]
        assert (group.get("matcher", ""), hook["type"], hook["timeout"]) == (place.matcher, "command", place.timeout)
        assert f" hook {wiring.word} " in hook["command"]


def test_a_plugin_is_found_by_what_its_agent_has_written() -> None:
    assert CLAUDE_CODE.plugin is not None
    assert GEMINI_CLI.plugin is not None
    is_on = CLAUDE_CODE.plugin.is_on
    assert is_on('{"enabledPlugins": {"other@ullage": true, "ullage@mine": true}}')
    assert not any(
        map(is_on, ("", "{", "[]", '{"enabledPlugins": []}', '{"enabledPlugins": {"ullage@ullage": false}}'))
    )
    is_on = GEMINI_CLI.plugin.is_on
    assert is_on('{"ullage": {"overrides": ["/home/ada/*"]}}')
    assert is_on('{"ullage": {"overrides": ["/home/ada/*", "!/home/ada/other/*"]}}')
    off = '{"ullage": {"overrides": ["!/home/ada/*"]}}'
    assert not any(map(is_on, ("", "{", "[]", "{}", off, '{"ullage": 1}', '{"ullage": {"overrides": [1]}}')))
