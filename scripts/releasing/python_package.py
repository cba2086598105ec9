"""The wheel and the source archive, from which `pip`, `pipx`, `uv tool` and `uvx` install, and the server as one
program for this machine's system."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

import program
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
