"""Makes the environment of Ullage's server from the wheels that the extension includes, without a network and pip.

    python -I make_environment.py WHEELS FOLDER

Ends with status 3 if this Python cannot use the wheels in the folder WHEELS: it is too old, too new or of another
platform. Standard output then has the reason. FOLDER appears when it is complete; if another process has made it
meanwhile, that one stays.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

UNFIT = 3
# The file that marks a complete environment.
READY = "ready"
WINDOWS = sys.platform == "win32"
# Finds Python next to itself, so that it runs wherever the folder is, and whatever characters are in its path.
PROGRAM = """#!/bin/sh
'''exec' "${0%/*}/python" "$0" "$@"
' '''
import sys
from ullage.cli.main import main
sys.exit(main())
"""
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"
# Modules that are built for one Python and one platform. Only loading them proves that they fit.
CHECK = "import msgspec, regex, tiktoken"


class Unfit(Exception):
    """Raised if this Python cannot use the wheels."""


def fitting(wheels: Path, tag: str) -> "list[Path]":
    """Returns one wheel of each package for the Python of this tag, such as `cp312`. Raises `Unfit`."""
    found: dict[str, Path | None] = {}
    for wheel in sorted(wheels.glob("*.whl")):
        package, *_, python, abi, _ = wheel.stem.split("-")
        found.setdefault(package, None)
        if tag == python or python.endswith("py3") or abi == "abi3":
            found[package] = wheel
    missing = [package for package, wheel in found.items() if wheel is None]
    if missing:
        raise Unfit(f"the extension includes no {', '.join(missing)} for {tag}")
    return [wheel for wheel in found.values() if wheel is not None]


def make(wheels: Path, folder: Path) -> None:
    """Makes the environment in the folder. Raises `Unfit`."""
    chosen = fitting(wheels, f"cp{sys.version_info[0]}{sys.version_info[1]}")
    # A Python that is too old has ended before, in words; some have no such module.
    import venv  # noqa: PLC0415

    venv.EnvBuilder(symlinks=not WINDOWS, with_pip=False).create(folder)
    programs = folder / ("Scripts" if WINDOWS else "bin")
    python = programs / ("python.exe" if WINDOWS else "python")
    packages = run(python, PACKAGES).stdout.strip()
    for wheel in chosen:
        with zipfile.ZipFile(wheel) as file:
            file.extractall(packages)
    checked = run(python, CHECK)
    if checked.returncode != 0:
        raise Unfit(last_line(checked.stderr))
    if not WINDOWS:
        program = programs / "ullage"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
    (folder / READY).touch()


def run(python: Path, code: str) -> "subprocess.CompletedProcess[str]":
    """Runs code in a Python, apart from the user's packages."""
    command = [str(python), "-I", "-c", code]
    return subprocess.run(command, check=False, capture_output=True, encoding="utf-8", errors="replace")


def last_line(output: str) -> str:
    """Returns the last line of a program's output."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "it does not load the modules that are built for it"


def main(wheels: Path, folder: Path) -> int:
    """Makes the environment beside its place and moves it there. Returns the status of the program."""
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        make(wheels, making)
        if not (folder / READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
    except Unfit as error:
        sys.stdout.write(f"{error}\n")
        return UNFIT
    except OSError:
        # Another process was faster.
        if not (folder / READY).exists():
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
