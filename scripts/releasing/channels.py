"""What a release builds: the wheel and the source archive, from which `pip`, `pipx`, `uv tool` and `uvx` install; the
server as one program for this machine's system; VS Code's extension, for the Marketplace and for Open VSX, with the
server as a program for this machine's platform, and without one for all others (the workflow makes those with the
other systems' programs, each on its system); Neovim's plugin as a tree of its own, with its folders at the top, where
plugin managers and LuaRocks look; and the entry of the agent registry, from which Zed and JetBrains install agents.
"""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import program
from releasing.project import Failed, Missing, Project, run

_TEMPLATES = Path(__file__).parent / "templates"


def check_generated(root: Path) -> list[Path]:
    """Checks that the repository's own manifests have this version: `server.json` of the MCP registry, the
    plugins of Claude Code and Gemini CLI, the extension's manifest. Returns no files."""
    run([sys.executable, root / "scripts" / "gen_protocol.py", "--check"], root)
    return []


def build_package(project: Project, root: Path, out: Path) -> list[Path]:
    """Builds both, has `twine` judge them, and runs the wheel in an environment of its own. Returns the two files."""
    run([sys.executable, "-m", "build", "--outdir", out, root], out)
    wheel, archive = out / f"{project.name}-{project.version}-py3-none-any.whl", out / project.archive
    for file in (wheel, archive):
        if not file.exists():
            raise Failed(f"the build made no {file.name}, but {', '.join(sorted(path.name for path in out.iterdir()))}")
    run([sys.executable, "-m", "twine", "check", "--strict", wheel, archive], out)
    _try_out(wheel, project.version)
    return [wheel, archive]


def _try_out(wheel: Path, version: str) -> None:
    """Installs the wheel as a user would, and asks the program for its version and for a figure."""
    with TemporaryDirectory(prefix="ullage-wheel-") as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        programs = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        run([programs / "python", "-m", "pip", "install", "-q", wheel], home)
        # Nothing of the checkout, and no settings of this user.
        environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        environment |= {"HOME": folder, "USERPROFILE": folder, "XDG_DATA_HOME": str(home / "data")}
        said = run([programs / "ullage", "--version"], home, environment).strip()
        if said != f"ullage {version}":
            raise Failed(f"the wheel's program says {said!r}, not version {version}")
        run([programs / "ullage", "demo", "--fast"], home, environment)


def build_program(project: Project, wheel: Path, out: Path) -> Path:
    """Makes the server as one program of the wheel, for this machine's system, and asks it for a figure. Returns an
    archive of its folder."""
    # In a folder of its own: PyPI gets every archive beside the wheel.
    name = f"program/{project.name}-{project.version}-{program.here() or sys.platform}"
    with TemporaryDirectory(prefix="ullage-program-") as folder:
        try:
            made = program.make(wheel, Path(folder))
        except (subprocess.SubprocessError, RuntimeError) as error:
            raise Failed(f"no program was made: {error}") from error
        run([made, "demo", "--fast"], Path(folder), {"HOME": folder, "USERPROFILE": folder})
        kind = "zip" if os.name == "nt" else "gztar"
        return Path(shutil.make_archive(str(out / name), kind, folder, "ullage"))


def build_extension(project: Project, root: Path, out: Path, program: Path | None) -> list[Path]:
    """Builds the extension's packages and looks at what is in them. `program` is an archive of the server as a program.
    Returns their files."""
    folder = root / "editors" / "vscode"
    texts = [
        path.relative_to(folder).as_posix() for path in (*folder.glob("package.nls*.json"), *folder.glob("l10n/*.json"))
    ]
    npm = shutil.which("npm")
    if npm is None or not (folder / "node_modules").exists():
        raise Missing("there is no npm, or not the extension's tools: npm ci in editors/vscode gets them")
    if program is None:
        raise Failed("there is no program of the server to include")
    with TemporaryDirectory(prefix="ullage-program-") as unpacked:
        shutil.unpack_archive(program, unpacked)
        run([npm, "run", "package", "--", Path(unpacked) / "ullage", "here", "universal"], folder)
    packages = sorted(folder.glob(f"{project.name}-*.vsix"))
    return [_take(project, package, texts, out) for package in packages]


def _take(project: Project, package: Path, texts: Sequence[str], out: Path) -> Path:
    """Copies a package, whose name ends in its platform. `texts` are the files with the texts in all languages. Raises
    `Failed` if the package is not whole. Returns the copy."""
    made = out / package.name.replace(project.name, f"{project.name}-{project.version}", 1)
    shutil.copyfile(package, made)
    with ZipFile(made) as packed:
        names = {name.removeprefix("extension/") for name in packed.namelist()}
        manifest = json.loads(packed.read("extension/package.json"))
        lacking = sorted({manifest["main"].removeprefix("./"), *texts} - names)
        if lacking:
            raise Failed(f"{made.name} lacks {', '.join(lacking)}")
        english = json.loads(packed.read("extension/package.nls.json"))
    said = (manifest["name"], manifest["version"], english[manifest["description"].strip("%")])
    if said != (project.name, project.version, project.description):
        raise Failed(f"{made.name} says it is {said}")
    return made


# What Neovim loads, and what a visitor of the repository reads. The tests stay in this repository.
_PARTS = ("doc", "lsp", "lua", "plugin", "README.md")


def build_plugin(project: Project, root: Path, out: Path) -> list[Path]:
    """Makes the tree `NAME.nvim`, which `scripts/mirror_nvim` commits to the plugin's own repository, and packs it for
    LuaRocks. The same files make the same bytes, so that the archive's hash can be checked. Returns the tree and the
    archive."""
    tree = out / f"{project.name}.nvim"
    tree.mkdir()
    for part in _PARTS:
        source = root / "editors" / "nvim" / part
        if source.is_dir():
            shutil.copytree(source, tree / part)
        else:
            shutil.copy(source, tree)
    shutil.copy(root / "LICENSE", tree)
    top = f"{tree.name}-{project.version}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(file for file in tree.rglob("*") if file.is_file()):
            entry = tarfile.TarInfo(f"{top}/{file.relative_to(tree).as_posix()}")
            entry.size = file.stat().st_size
            archive.addfile(entry, io.BytesIO(file.read_bytes()))
    made = out / f"{top}.tar.gz"
    made.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return [tree, made]


def build_rock(project: Project, out: Path) -> list[Path]:
    """Writes the rockspec of the plugin, and has LuaRocks read it and install the plugin's archive by it into an empty
    folder."""
    luarocks = shutil.which("luarocks")
    if luarocks is None:
        raise Missing("there is no luarocks (Debian: luarocks)")
    archive = f"{project.name}.nvim-{project.version}"
    rockspec = out / "luarocks" / f"{archive}-1.rockspec"
    rockspec.parent.mkdir()
    rockspec.write_text(fill_in_rock(project), encoding="utf-8")
    run([luarocks, "lint", rockspec], out)
    with TemporaryDirectory(prefix="ullage-rock-") as folder:
        run(["tar", "-xzf", out / f"{archive}.tar.gz"], Path(folder))
        # Installs from the unpacked archive: nothing is published that could be downloaded.
        tree = Path(folder) / "tree"
        run([luarocks, "--tree", tree, "make", rockspec], Path(folder) / archive)
        if not [*tree.glob("share/lua/*/ullage/client.lua")] or not [*tree.glob("lib/**/lsp/ullage.lua")]:
            raise Failed("LuaRocks installed no client.lua, or no lsp/ullage.lua")
    return [rockspec]


def fill_in_rock(project: Project) -> str:
    """Returns the rockspec of this version."""
    return Template((_TEMPLATES / "ullage.rockspec").read_text(encoding="utf-8")).substitute(project._asdict())


def write_entry(project: Project, out: Path) -> list[Path]:
    """Writes the files for the pull request to the agent registry."""
    folder = out / "acp-registry" / project.name
    folder.mkdir(parents=True)
    (folder / "agent.json").write_text(json.dumps(agent_entry(project), indent=2) + "\n", encoding="utf-8")
    shutil.copy(_TEMPLATES / "icon.svg", folder)
    return [folder]


def agent_entry(project: Project) -> dict[str, Any]:
    """Returns Ullage's entry in the registry of the Agent Client Protocol. Only the agent is listed: an entry cannot
    name the agent that the proxy is put before."""
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
