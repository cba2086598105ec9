"""VS Code's extension, for the Marketplace and for Open VSX."""

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

from releasing.outcomes import Failed, Missing, run
from releasing.project import Project


def build_extension(project: Project, root: Path, out: Path) -> list[Path]:
    """Builds the extension's package for each platform and looks at what is in them. Returns their files."""
    folder = root / "editors" / "vscode"
    npm = shutil.which("npm")
    if npm is None or not (folder / "node_modules").exists():
        raise Missing("there is no npm, or not the extension's tools: npm ci in editors/vscode gets them")
    run([npm, "run", "package", "--", "all"], folder)
    packages = sorted(folder.glob(f"{project.name}-*.vsix"))
    return [_take(project, package, out) for package in packages]


def _take(project: Project, package: Path, out: Path) -> Path:
    """Copies a package, whose name ends in its platform. Raises `Failed` if it is not whole. Returns the copy."""
    made = out / package.name.replace(project.name, f"{project.name}-{project.version}", 1)
    shutil.copyfile(package, made)
    with ZipFile(made) as packed:
        manifest = json.loads(packed.read("extension/package.json"))
        names = packed.namelist()
    said = (manifest["name"], manifest["version"], manifest["description"])
    if said != (project.name, project.version, project.description):
        raise Failed(f"{made.name} says it is {said}")
    if manifest["main"].removeprefix("./") not in {name.removeprefix("extension/") for name in names}:
        raise Failed(f"{made.name} lacks its program, {manifest['main']}")
    return made
