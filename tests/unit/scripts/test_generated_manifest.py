"""The settings in the extension's manifest."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from generators.manifest import (
    configuration,
    generated_texts,
    restricted,
    with_settings,
    with_texts,
    with_version,
)
from ullage.api.methods import settings_schema

COMMITTED = Path(__file__).resolve().parents[3] / "editors" / "vscode" / "package.json"
MANIFEST = """{
  "name":   "kept as it is",
  "capabilities": {
    "restrictedConfigurations": []
  },
  "contributes": {
    "configuration": [{"title": "old", "properties": {"old": {"default": "]"}}}],
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
    before, between, after = re.split(r'\[\]|\[\{"title".*?\}\}\}\]', MANIFEST, maxsplit=2)
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
