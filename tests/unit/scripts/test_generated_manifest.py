"""The settings in the extension's manifest."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from generators.manifest import (
    agent_commands,
    configuration,
    generated_texts,
    restricted,
    with_commands,
    with_settings,
    with_texts,
    with_version,
)
from generators.names import writable_agents
from ullage.api.schema import settings_schema

COMMITTED = Path(__file__).resolve().parents[3] / "editors" / "vscode" / "package.json"
MANIFEST = """{
  "name":   "kept as it is",
  "capabilities": {
    "restrictedConfigurations": []
  },
  "contributes": {
    "configuration": {"title": "old", "properties": {"old": {"default": "}"}}},
    "commands": [ ]
  }
}
"""


def written(folder: Path, text: str) -> str:
    manifest = folder / "package.json"
    manifest.write_text(text)
    return with_settings(manifest)


def test_only_the_region_changes(tmp_path: Path) -> None:
    text = written(tmp_path, MANIFEST)
    before, between, after = re.split(r'\[\]|\{"title".*?\}\}\}', MANIFEST, maxsplit=2)
    assert text.startswith(before)
    assert between in text
    assert text.endswith(after)
    made = json.loads(text)
    assert made["contributes"]["configuration"] == json.loads(json.dumps(configuration()))
    assert made["capabilities"]["restrictedConfigurations"] == restricted(configuration())


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    once = written(tmp_path, MANIFEST)
    assert written(tmp_path, once) == once


@pytest.mark.parametrize("regions", [0, 2])
def test_a_manifest_without_one_clear_place_is_refused(regions: int, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=rf"it has {regions}"):
        written(tmp_path, '{\n  "x": 1,\n' + '  "configuration": {},\n' * regions + '  "y": 2\n}\n')


def test_the_commands_that_name_an_agent_replace_those_of_before_and_no_others() -> None:
    own, old = {"command": "ullage.ask", "title": "Ask"}, {"command": "ullage.agent.other.gone", "title": "Gone"}
    manifest = {"commands": [own, old], "menus": {"commandPalette": [{"command": "ullage.ask", "when": "x"}]}}
    once = with_commands(json.dumps(manifest, indent=2))
    made = json.loads(once)
    names = [name for name, _, _ in agent_commands()]
    assert [one["command"] for one in made["commands"]] == ["ullage.ask", *names]
    assert [one["command"] for one in made["menus"]["commandPalette"]] == ["ullage.ask", *names]
    assert with_commands(once) == once


def test_each_agent_whose_sessions_can_be_written_has_its_commands_in_the_manifest() -> None:
    texts = json.loads(COMMITTED.with_name("package.nls.json").read_text())
    titles = (one["title"] for one in json.loads(COMMITTED.read_text())["contributes"]["commands"])
    commands = {texts[title.strip("%")] for title in titles}
    for _, agent in writable_agents():
        titles = {title for _, title, _ in agent_commands() if agent in title}
        assert {f"Compact into a New Session of {agent}…", f"Continue in {agent}…"} <= titles <= commands


def test_every_text_of_a_setting_has_a_key_of_its_own() -> None:
    def texts(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            for name, value in cast("dict[str, object]", schema).items():
                yield from [value] if name == "description" and isinstance(value, str) else texts(value)
        elif isinstance(schema, list):
            for value in cast("list[object]", schema):
                yield from texts(value)

    served = sorted(texts(settings_schema()["properties"]))
    own = {"server.path", "server.python", "followAgents", "quiet", "trace.server"}
    keyed = {
        key.removeprefix("setting."): text for key, text in generated_texts().items() if key.startswith("setting.")
    }
    assert sorted(text for key, text in keyed.items() if key not in own) == served
    assert sorted(texts(configuration())) == sorted(
        f"%setting.{key}%" for key in keyed if key not in own - {"trace.server"}
    )


def test_texts_written_by_hand_stay_and_those_of_what_has_gone_do_not(tmp_path: Path) -> None:
    nls = tmp_path / "package.nls.json"
    nls.write_text(json.dumps({"command.ask": "Ask", "setting.gone": "Gone", "setting.quiet": "Old"}))
    made = json.loads(with_texts(nls))
    assert made["command.ask"] == "Ask"
    assert "setting.gone" not in made
    assert made["setting.quiet"] == generated_texts()["setting.quiet"]


def test_only_the_first_versions_are_the_package_s_own() -> None:
    lock = '{\n  "version": "1",\n  "packages": {\n    "": {\n      "version": "1"\n    },\n    "x": {"version": "1"}\n'
    assert with_version(lock, "2.0", places=2) == lock.replace('"1"', '"2.0"', 2)


def test_a_manifest_without_a_version_is_refused() -> None:
    with pytest.raises(SystemExit, match="it has 0"):
        with_version("{}", "2.0")


def test_every_setting_of_the_server_is_there_in_its_order_with_its_default() -> None:
    properties = configuration()["properties"]
    served = settings_schema()["properties"]
    ours = [name for name in properties if name.removeprefix("ullage.") in served]
    assert ours == [f"ullage.{name}" for name in served]
    assert [properties[name]["default"] for name in ours] == [value["default"] for value in served.values()]
    assert [value["order"] for value in properties.values()] == list(range(len(properties)))


def test_a_folder_that_is_not_trusted_sets_nothing_but_what_is_shown() -> None:
    manifest = json.loads(COMMITTED.read_text())
    closed = manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    properties = manifest["contributes"]["configuration"]["properties"]
    assert {*properties} - {*closed} == {"ullage.quiet", "ullage.trace.server"}
    assert {*closed} <= {*properties}


def test_what_names_a_program_a_server_or_a_file_belongs_to_the_machine() -> None:
    properties = configuration()["properties"]
    machine = {name for name, value in properties.items() if value["scope"] == "machine-overridable"}
    assert {"ullage.server.path", "ullage.provider", "ullage.providers", "ullage.summary.promptFile"} <= machine
