"""What registries are given about Ullage, as files: the Agent Client Protocol's, Mason's, LuaRocks', nvim-lspconfig's,
Homebrew's, nixpkgs' and a container's recipe.

Each is a template with the project's facts filled in, so that none can name another version or describe Ullage in
other words.

Each is read by the program by which its channel reads it.
"""

import base64
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

from releasing.project import Failed, Missing, Project, run

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


Judge = Callable[[Project, Path], Sequence[Path]]


def check_generated(root: Path) -> list[Path]:
    """Checks that the repository's own manifests have this version: `server.json` of the MCP registry, the
    plugins of Claude Code and Gemini CLI, the extension's manifest. Returns no files."""
    run([sys.executable, root / "scripts" / "gen_protocol.py", "--check"], root)
    return []


def check_formula(_: Project, out: Path) -> list[Path]:
    """Has Ruby read Homebrew's formula."""
    formula = out / "homebrew" / "Formula" / "ullage.rb"
    run([_program("ruby", "ruby"), "-c", formula], out)
    return [formula]


def check_expression(_: Project, out: Path) -> list[Path]:
    """Has Nix read the expression of nixpkgs."""
    expression = out / "nixpkgs" / "ullage" / "package.nix"
    run([_program("nix-instantiate", "nix-bin"), "--parse", expression], out)
    return [expression]


def check_rock(project: Project, out: Path) -> list[Path]:
    """Has LuaRocks read the rockspec, and install the plugin's archive by it into an empty folder."""
    luarocks = _program("luarocks", "luarocks")
    rockspec = out / "luarocks" / f"{project.name}.nvim-{project.version}-1.rockspec"
    run([luarocks, "lint", rockspec], out)
    archive = f"{project.name}.nvim-{project.version}"
    with TemporaryDirectory(prefix="ullage-rock-") as folder:
        run(["tar", "-xzf", out / f"{archive}.tar.gz"], Path(folder))
        # Installs from the unpacked archive: nothing is published that could be downloaded.
        tree = Path(folder) / "tree"
        run([luarocks, "--tree", tree, "make", rockspec], Path(folder) / archive)
        if not [*tree.glob("share/lua/*/ullage/client.lua")] or not [*tree.glob("lib/**/lsp/ullage.lua")]:
            raise Failed("LuaRocks installed no client.lua, or no lsp/ullage.lua")
    return [rockspec]


def check_lsp_config(_: Project, out: Path) -> list[Path]:
    """Has Neovim load the file for nvim-lspconfig and look up its client by name."""
    neovim = _program("nvim", "neovim")
    folder = out / "nvim-lspconfig"
    look_up = "lua local c = assert(dofile('lsp/ullage.lua')); assert(c.cmd[1] == 'ullage' and c.cmd[2] == 'lsp')"
    run([neovim, "--headless", "-u", "NONE", "+" + look_up, "+cquit 0"], folder)
    return [folder / "lsp" / "ullage.lua"]


# Each channel of which a file was filled in, with the program that reads it there.
JUDGES: Mapping[str, Judge] = {
    "Homebrew": check_formula,
    "nixpkgs": check_expression,
    "LuaRocks": check_rock,
    "nvim-lspconfig": check_lsp_config,
}


def _program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name} (Debian: {package})")
    return found
