"""The settings in the extension's manifest."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from generators.manifest import (
    configuration,
    generated_texts,
    restricted,
    with_generated,
    with_texts,
    with_version,
)
from ullage import __version__
from ullage.api.methods import settings_schema

COMMITTED = Path(__file__).resolve().parents[3] / "editors" / "vscode" / "package.json"


def test_what_is_written_by_hand_stays_and_its_order() -> None:
    capabilities: Any = {"untrustedWorkspaces": {"supported": "limited", "restrictedConfigurations": []}}
    contributes: Any = {"configuration": [{"title": "old"}], "commands": [], "languageModelTools": []}
    written = {"name": "Kept", "version": "0", "capabilities": capabilities, "contributes": contributes}
    made = json.loads(with_generated(json.dumps(written)))
    assert ([*made], [*made["contributes"]]) == ([*written], [*contributes])
    assert (made["name"], made["version"], made["contributes"]["commands"]) == ("Kept", __version__, [])
    assert made["contributes"]["configuration"] == json.loads(json.dumps(configuration()))
    restricts = made["capabilities"]["untrustedWorkspaces"]
    assert restricts == {"supported": "limited", "restrictedConfigurations": restricted(configuration())}


def test_every_text_of_a_setting_has_a_key_of_its_own() -> None:
    def texts(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            for name, value in cast("dict[str, object]", schema).items():
                yield from [value] if name == "description" and isinstance(value, str) else texts(value)
        elif isinstance(schema, list):
            for value in cast("list[object]", schema):
                yield from texts(value)

    keyed = {key for key in generated_texts() if key.startswith("setting.")}
    own = {f"setting.{name}" for name in ("server.path", "server.python", "followAgents", "quiet", "settingsFile")}
    assert sorted(texts(configuration())) == sorted(f"%{key}%" for key in keyed - own)
    assert own <= keyed


def test_texts_written_by_hand_stay_and_those_of_what_has_gone_do_not() -> None:
    made = json.loads(with_texts(json.dumps({"command.ask": "Ask", "setting.gone": "Gone", "setting.quiet": "Old"})))
    assert made["command.ask"] == "Ask"
    assert "setting.gone" not in made
    assert made["setting.quiet"] == generated_texts()["setting.quiet"]


def test_the_versions_of_other_packages_stay() -> None:
    lock = {"version": "1", "packages": {"": {"version": "1"}, "x": {"version": "1"}}}
    made = {"version": __version__, "packages": {"": {"version": __version__}, "x": {"version": "1"}}}
    assert json.loads(with_version(json.dumps(lock), "")) == made


def test_nine_settings_are_listed_first_and_each_has_the_server_s_default() -> None:
    served = settings_schema()["properties"]
    first, advanced = (group["properties"] for group in configuration())
    assert len(first) == 9
    for group in (first, advanced):
        assert [value["order"] for value in group.values()] == list(range(len(group)))
        for name, value in group.items():
            if (known := served.get(name.removeprefix("ullage."))) is not None:
                assert value["default"] == known["default"]


def test_a_folder_that_is_not_trusted_sets_nothing_but_what_is_shown() -> None:
    manifest = json.loads(COMMITTED.read_text())
    closed = manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    properties = {name for group in manifest["contributes"]["configuration"] for name in group["properties"]}
    assert {*properties} - {*closed} == {"ullage.quiet", "ullage.trace.server"}
    assert {*closed} <= {*properties}


def test_what_names_a_program_a_server_or_a_file_belongs_to_the_machine() -> None:
    groups = (group["properties"].items() for group in configuration())
    machine = {name for group in groups for name, value in group if value["scope"].startswith("machine")}
    assert {"ullage.server.path", "ullage.provider", "ullage.providers", "ullage.settingsFile"} <= machine
