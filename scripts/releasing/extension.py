"""VS Code's extension, for the Marketplace and for Open VSX: with the server as a program for this machine's platform,
and without one for all others. The workflow makes the packages with the other systems' programs, each on its system."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from releasing.outcomes import Failed, Missing, run
from releasing.project import Project


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
