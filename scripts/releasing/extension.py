"""VS Code's extension, for the Marketplace and for Open VSX."""

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

from releasing.outcomes import Failed, Missing, run
from releasing.project import Project


def build_extension(project: Project, root: Path, out: Path) -> list[Path]:
    """Builds the extension and looks at what is in it. Returns its file."""
    folder = root / "editors" / "vscode"
    npm = shutil.which("npm")
    if npm is None or not (folder / "node_modules").exists():
        raise Missing("there is no npm, or not the extension's tools: npm ci in editors/vscode gets them")
    run([npm, "run", "package"], folder)
    made = out / f"{project.name}-{project.version}.vsix"
    shutil.copyfile(folder / "ullage.vsix", made)
    with ZipFile(made) as packed:
        manifest = json.loads(packed.read("extension/package.json"))
        names = packed.namelist()
    said = (manifest["name"], manifest["version"], manifest["description"])
    if said != (project.name, project.version, project.description):
        raise Failed(f"the extension says it is {said}")
    if manifest["main"].removeprefix("./") not in {name.removeprefix("extension/") for name in names}:
        raise Failed(f"the extension lacks its program, {manifest['main']}")
    return [made]
