"""The wheel and the source archive, from which `pip`, `pipx`, `uv tool` and `uvx` install."""

import os
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.outcomes import Failed, run
from releasing.project import Project


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
