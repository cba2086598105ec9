"""What registries are given about Ullage, as files: the Agent Client Protocol's, Mason's, LuaRocks', nvim-lspconfig's,
Homebrew's, nixpkgs' and a container's recipe.

Each is a template with the project's facts filled in, so that none can name another version or describe Ullage in
other words.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from releasing.project import Project

_TEMPLATES = Path(__file__).parent / "templates"
# The path of each filled-in template in the folder of a release.
TEMPLATES: Mapping[str, str] = {
    "mason/packages/ullage/package.yaml": "mason.yaml",
    "luarocks/ullage.nvim-{version}-1.rockspec": "ullage.rockspec",
    "nvim-lspconfig/lsp/ullage.lua": "lspconfig.lua",
    "homebrew/Formula/ullage.rb": "ullage.rb",
    "nixpkgs/ullage/package.nix": "package.nix",
    "container/Containerfile": "Containerfile",
}


def agent_entry(project: Project) -> dict[str, Any]:
    """Returns Ullage's entry in the registry of the Agent Client Protocol, from which Zed and JetBrains install agents.
    Only the agent is listed: an entry cannot name the agent that the proxy is put before."""
    return {
        "id": project.name,
        "name": project.name.capitalize(),
        "version": project.version,
        "description": project.description,
        "repository": project.repository,
        "authors": [project.name.capitalize()],
        "license": project.license,
        "license_url": f"{project.repository}/blob/v{project.version}/LICENSE",
        "distribution": {"uvx": {"package": f"{project.name}[all]=={project.version}", "args": ["acp"]}},
    }


def fill_in(name: str, project: Project, digest: str) -> str:
    """Returns a template with the project's facts. `digest` is the SHA-256 of the source archive, in hexadecimal."""
    facts = {
        **project._asdict(),
        "digest": digest,
        # Nix writes hashes as the web does.
        "integrity": "sha256-" + base64.b64encode(bytes.fromhex(digest)).decode(),
        "address": f"{project.repository}/releases/download/v{project.version}/{project.archive}",
        "packages": "\n".join(f"    {_package(needed)}" for needed in project.dependencies),
        "oldest_python": re.sub(r"[^\d.]", "", project.python),
    }
    return Template((_TEMPLATES / name).read_text(encoding="utf-8")).substitute(facts)


def write_listings(project: Project, archive: Path, out: Path) -> list[Path]:
    """Writes all listings. `archive` is the source archive, which some of them name by its hash. Returns the files."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    files = {
        path.format(version=project.version): fill_in(template, project, digest) for path, template in TEMPLATES.items()
    }
    files["acp-registry/ullage/agent.json"] = json.dumps(agent_entry(project), indent=2) + "\n"
    files["acp-registry/ullage/icon.svg"] = (_TEMPLATES / "icon.svg").read_text(encoding="utf-8")
    made = [out / path for path in files]
    for path, text in zip(made, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return made


def _package(requirement: str) -> str:
    """Returns the name of a required package, without the versions."""
    found = re.match(r"[\w.-]+", requirement)
    assert found, requirement
    return found.group()
