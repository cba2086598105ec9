"""What a registry, a package manager or an editor reads of Ullage has one version and one description, everywhere."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from releasing.channels import agent_entry, build_plugin, fill_in_rock, write_entry
from releasing.project import read_project
from support.documents import ROOT
from support.neovim import RIGS
from ullage import __version__
from ullage.acp.agent import LOGIN_ARGUMENTS
from ullage.cli.command_line import build_parser

PROJECT = read_project()
# The manifests in the repository that channels read. Those of the plugins for agents describe the plugin.
_PLUGINS = (
    ".claude-plugin/marketplace.json",
    "editors/claude-code/.claude-plugin/plugin.json",
    "editors/gemini-cli/gemini-extension.json",
)
_MANIFESTS = ("server.json", "editors/vscode/package.json", *_PLUGINS)


def stated(path: str, name: str) -> set[str]:
    """Returns what a manifest says in its fields of this name, however deep they are."""
    found: set[str] = set()

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.update(value for key, value in pairs if key == name and isinstance(value, str))
        return dict(pairs)

    json.loads((ROOT / path).read_text(encoding="utf-8"), object_pairs_hook=keep)
    return found


@pytest.mark.parametrize("path", _MANIFESTS)
def test_each_manifest_in_the_repository_has_the_package_s_version_and_no_other(path: str) -> None:
    assert stated(path, "version") == {__version__}


def test_the_plugins_for_agents_have_one_description() -> None:
    assert len({said for path in _PLUGINS for said in stated(path, "description")}) == 1


def test_the_extension_s_description_is_the_package_s() -> None:
    folder = ROOT / "editors/vscode"
    manifest, texts = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("package.json", "package.nls.json")
    )
    assert texts[manifest["description"].strip("%")] == PROJECT.description


def test_the_rockspec_has_the_version_and_no_other_and_the_description() -> None:
    text, newer = fill_in_rock(PROJECT), fill_in_rock(PROJECT._replace(version="7.8.9"))
    assert PROJECT.description in text
    assert __version__ not in newer
    assert newer.replace("7.8.9", __version__) == text


def test_the_agent_registry_s_entry_keeps_the_rules_of_its_schema() -> None:
    entry = agent_entry(PROJECT)
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])
    assert entry["distribution"]["uvx"]["package"].endswith(f"=={__version__}")
    assert entry["license_url"].startswith("https://")
    assert entry["description"] == PROJECT.description


def test_the_login_that_the_agent_offers_is_one_of_the_program_that_the_registry_starts() -> None:
    started = agent_entry(PROJECT)["distribution"]["uvx"]
    args = build_parser().parse_args([*started["args"], *LOGIN_ARGUMENTS])
    assert (args.module, args.login) == ("acp", True)
    # Of all extras, which include the keyring.
    assert started["package"].startswith("ullage[all]==")


def test_the_agent_registry_s_entry_is_valid_by_its_schema() -> None:
    path = RIGS / "acp" / "agent.schema.json"
    if not path.exists():
        pytest.skip("the registry's schema is not there; put agent.schema.json into the rigs' folder acp")
    judge: Any = jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))
    assert [fault.message for fault in judge.iter_errors(agent_entry(PROJECT))] == []
    # The judge finds faults.
    assert [*judge.iter_errors({**agent_entry(PROJECT), "version": "new"})]


def test_the_registry_s_icon_has_one_colour_and_sixteen_pixels(tmp_path: Path) -> None:
    (folder,) = write_entry(PROJECT, tmp_path)
    assert json.loads((folder / "agent.json").read_text(encoding="utf-8")) == agent_entry(PROJECT)
    icon = (folder / "icon.svg").read_text(encoding="utf-8")
    assert 'width="16" height="16"' in icon
    assert {*re.findall(r'(?:fill|stroke)="([^"]+)"', icon)} == {"none", "currentColor"}


def test_neovim_s_plugin_is_packed_to_the_same_bytes_each_time(tmp_path: Path) -> None:
    (_, first), (_, again) = (build_plugin(PROJECT, ROOT, _folder(tmp_path / name)) for name in ("a", "b"))
    assert first.name == f"ullage.nvim-{__version__}.tar.gz"
    assert first.read_bytes() == again.read_bytes()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
