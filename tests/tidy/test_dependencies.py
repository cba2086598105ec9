"""The packages that installing Ullage adds, and that its version is written in one place."""

import json
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ullage import __version__

ROOT = Path(__file__).resolve().parents[2]
# For `pip install ullage` without extras, not counting Ullage itself. With the SDKs and the keyring it is three times
# as many.
MOST_PACKAGES = 21


def needed_by(package: str, found: set[str], extras: frozenset[str] = frozenset()) -> None:
    """Adds every package that is installed with this one and these extras of it, on this system."""
    for line in requires(package) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or {""}):
            name = canonicalize_name(requirement.name)
            if name not in found:
                found.add(name)
                needed_by(name, found, frozenset(requirement.extras))


def test_no_more_than_21_packages_are_installed_without_extras() -> None:
    found: set[str] = set()
    needed_by("ullage", found)
    assert len(found) <= MOST_PACKAGES, sorted(found)
    assert {"pygls", "tiktoken", "msgspec"} <= found
    assert not found & {"anthropic", "openai", "keyring", "pydantic"}


def test_the_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "server/ullage/__init__.py"
    manifest = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())
    assert manifest["version"] == __version__


def test_every_declared_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    pins = pinned()
    for requirement in declared():
        assert is_allowed(requirement, pins), f"{requirement} has no pin; run ./scripts/lock"


def test_what_is_installed_here_allows_the_pins_of_what_it_needs() -> None:
    pins = pinned()
    for name in {canonicalize_name(distribution.name) for distribution in distributions()} & {*pins}:
        for requirement in map(Requirement, requires(name) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert is_allowed(requirement, pins), f"{name} needs {requirement}; run ./scripts/lock"


def pinned() -> dict[str, set[str]]:
    """Returns the versions to which each package is pinned: there may be one for each system."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / "scripts" / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            pins.setdefault(canonicalize_name(pin.name), set()).add(str(pin.specifier).removeprefix("=="))
    return pins


def is_allowed(requirement: Requirement, pins: dict[str, set[str]]) -> bool:
    """Returns whether a package is pinned to a version that the requirement allows."""
    versions = pins.get(canonicalize_name(requirement.name), ())
    return any(requirement.specifier.contains(version, prereleases=True) for version in versions)


def declared() -> Iterator[Requirement]:
    """Yields every dependency in pyproject.toml except Ullage's own extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tables = (project["project"]["optional-dependencies"], project["dependency-groups"])
    lists = [project["project"]["dependencies"], *(lines for table in tables for lines in table.values())]
    lines = (line for lines in lists for line in lines if isinstance(line, str))
    return (found for line in lines if (found := Requirement(line)).name != "ullage")
