"""`server.json`, by which the MCP registry lists `ullage mcp`, keeps the rules for which the registry refuses an entry:
those of its schema of 2025-12-11, and that the README of the package names the server."""

import json
import re
from typing import Any

import jsonschema
import pytest

from support.documents import ROOT
from support.neovim import RIGS
from ullage import __version__
from ullage.agents.table import AGENTS
from ullage.cli.command_line import build_parser

ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
(PACKAGE,) = ENTRY["packages"]
_EXACT = re.compile(r"\d+\.\d+\.\d+([-+][\w.-]+)?")


def test_the_entry_has_what_is_required_and_nothing_unknown() -> None:
    assert ENTRY["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert ENTRY.keys() == {"$schema", "name", "title", "description", "version", "packages"}
    assert 1 <= len(ENTRY["description"]) <= 100
    assert 1 <= len(ENTRY["title"]) <= 100
    assert 3 <= len(ENTRY["name"]) <= 200
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", ENTRY["name"])


def test_the_entry_is_valid_by_the_registry_s_own_schema() -> None:
    path = RIGS / "mcp" / "server.schema.json"
    if not path.exists():
        pytest.skip("the registry's schema is not there; scripts/rigs/mcp.sh gets it")
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$id"] == ENTRY["$schema"]
    judge: Any = jsonschema.Draft7Validator(schema)
    assert [fault.message for fault in judge.iter_errors(ENTRY)] == []
    # The judge finds faults.
    (package,) = ENTRY["packages"]
    assert [*judge.iter_errors({**ENTRY, "packages": [{**package, "transport": {"type": "wire"}}]})]


def test_the_package_is_one_of_pypi_that_is_started_on_its_standard_streams() -> None:
    # Without an address of its own, the registry takes the usual one of this kind.
    assert PACKAGE["registryType"] == "pypi"
    assert PACKAGE["transport"] == {"type": "stdio"}
    assert PACKAGE["runtimeHint"] == "uvx"
    assert {*PACKAGE} <= {
        *("registryType", "identifier", "version", "runtimeHint", "transport"),
        *("packageArguments", "environmentVariables"),
    }
    assert f'name = "{PACKAGE["identifier"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", [ENTRY["version"], PACKAGE["version"]])
def test_its_versions_are_ullage_s_own_and_exact(version: str) -> None:
    assert version == __version__
    assert _EXACT.fullmatch(version)


def test_its_arguments_start_the_server() -> None:
    assert all(argument["type"] == "positional" for argument in PACKAGE["packageArguments"])
    given = build_parser().parse_args([argument["value"] for argument in PACKAGE["packageArguments"]])
    assert given.module == "mcp"


def test_its_variables_are_those_that_an_agent_withholds() -> None:
    named = {variable["name"] for variable in PACKAGE["environmentVariables"]}
    assert named == {name for agent in AGENTS for name in agent.withheld_variables}
    assert all(variable["format"] == "filepath" for variable in PACKAGE["environmentVariables"])


def test_the_readme_that_is_published_with_the_package_names_the_server() -> None:
    # The registry reads this to know that the package belongs to the server.
    assert 'readme = "README.md"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    marks = re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert marks == [ENTRY["name"]]
