"""Makes the server as one program, for this machine's system: no Python is needed where it runs.

    python scripts/program.py WHEEL FOLDER    the wheel and the core's packages as FOLDER/ullage/ullage[.exe]
    python scripts/program.py --here          prints this machine's platform as VS Code names it, or nothing

The folder `ullage` may be moved as a whole. It is 37 MB, 20 MB in a zip file, and starts 0.1 s later than an installed
Ullage. One file would be unpacked at each start, which takes a second; a zip application has 8 MB, and needs the Python
for which it was made. PyInstaller makes the program in an environment of its own, with the versions of
`constraints.txt`. Ends with status 1 if that fails.
"""

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

_HERE = Path(__file__).resolve().parent
_ENTRY = _HERE / "releasing" / "frozen_entry.py"
# What is imported by name alone: commands, agents' readers, the parts of the protocol, the encodings of models.
_COLLECTED = ("ullage", "lsprotocol")
_NAMED = ("tiktoken_ext.openai_public", "backports.zstd", "compression.zstd")
# The second and third lines are for what Ullage does not use of the packages that it needs: `requests` and its own
# needs fetch vocabularies for tiktoken, and Ullage includes them; the others are for rich's Markdown and its code.
_LEFT_OUT = (
    *("tkinter", "pydoc_data", "setuptools", "pip"),
    *("requests", "urllib3", "certifi", "idna", "charset_normalizer"),
    *("pygments", "markdown_it_py", "mdurl"),
)
# Seconds for each step. On a quiet machine all of them take one minute.
_PATIENCE = 900.0


def here() -> str | None:
    """Returns the platform of this machine, or None if VS Code has none of that kind or its C library is another."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    if machine is None or (sys.platform == "linux" and platform.libc_ver()[0] != "glibc"):
        return None
    return f"{sys.platform}-{machine}" if sys.platform in ("linux", "darwin", "win32") else None


def make(wheel: Path, folder: Path) -> Path:
    """Makes the program of a wheel. Returns its file. Raises `subprocess.SubprocessError` if a step fails, and
    `RuntimeError` if the program says another version than the wheel."""
    suffix, programs = (".exe", "Scripts") if os.name == "nt" else ("", "bin")
    with TemporaryDirectory(prefix="ullage-program-") as name:
        work = Path(name)
        venv.create(work / "env")
        python = work / "env" / programs / f"python{suffix}"
        # PyInstaller compiles what it takes.
        install = ["install", "-q", "--no-compile", "-c", _HERE / "constraints.txt", wheel.resolve(), "pyinstaller"]
        _run(sys.executable, "-m", "pip", "--python", python, *install)
        collected = [word for package in _COLLECTED for word in ("--collect-all", package)]
        named = [word for module in _NAMED for word in ("--hidden-import", module)]
        left_out = [word for module in _LEFT_OUT for word in ("--exclude-module", module)]
        strip = ["--strip"] if sys.platform == "linux" else []
        places = ["--distpath", work / "made", "--workpath", work / "build", "--specpath", work]
        options = ["--noconfirm", "--log-level", "ERROR", "--name", "ullage", *strip, *places]
        _run(python, "-m", "PyInstaller", *options, *collected, *named, *left_out, _ENTRY)
        made = folder.resolve() / "ullage"
        if made.exists():
            shutil.rmtree(made)
        shutil.copytree(work / "made" / "ullage", made, symlinks=True)
    program = made / f"ullage{suffix}"
    said = _run(program, "--version").split()
    if said[:1] != ["ullage"] or f"-{said[-1]}-" not in wheel.name:
        raise RuntimeError(f"{program} says {' '.join(said)}, and is made of {wheel.name}")
    return program


def _run(*words: str | Path) -> str:
    # A variable of this Python's, such as PYTHONPATH, is none of the environment's.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(word) for word in words], check=True, timeout=_PATIENCE, env=own, stdout=subprocess.PIPE, text=True
    ).stdout


def main(words: list[str]) -> int:
    """Runs the command line."""
    if words == ["--here"]:
        print(here() or "")
        return 0
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        program = make(Path(words[0]), Path(words[1]))
    except (subprocess.SubprocessError, RuntimeError) as error:
        print(f"no program was made: {error}", file=sys.stderr)
        return 1
    size = sum(file.stat().st_size for file in program.parent.rglob("*") if file.is_file())
    print(f"{program}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
