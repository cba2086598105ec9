"""Downloads the wheels that Ullage's server needs to count and to compact, for one of VS Code's platforms.

    python scripts/core_wheels.py linux-x64 WHEEL FOLDER    WHEEL and what it needs, into FOLDER
    python scripts/core_wheels.py --here                    prints this machine's platform, or nothing

pip does the downloading, as it is configured, and for other machines than this one, too; nothing of them is run. The
versions are those of `constraints.txt`. Ends with status 1 if pip cannot get a wheel.
"""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

# pip brings it wherever it downloads.
from pip._vendor.packaging.requirements import Requirement

# The tags of the wheels that run on a platform, as VS Code names it. The oldest systems on which VS Code itself runs
# have glibc 2.28 and macOS 11.
TAGS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64", "macosx_11_0_universal2"),
    "darwin-arm64": ("macosx_11_0_arm64", "macosx_11_0_universal2"),
    "win32-x64": ("win_amd64",),
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Needed by a package that is needed, but not for what Ullage uses of it: `requests` and its own needs fetch
# vocabularies for tiktoken, and Ullage includes them; the others are for rich's Markdown and highlighting of code.
UNUSED = (
    *("requests", "urllib3", "certifi", "idna", "charset_normalizer"),
    *("pygments", "markdown_it_py", "mdurl"),
)
# Seconds for the wheels of one Python. Without a network, pip tries again and again.
_PATIENCE = 300.0
_CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def here() -> str | None:
    """Returns the platform of this machine, or None if VS Code has none of that kind or its C library is another."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    name = f"{sys.platform}-{machine}"
    if sys.platform == "linux" and platform.libc_ver()[0] != "glibc":
        return None
    return name if name in TAGS else None


def download(target: str, wheel: Path, folder: Path, pythons: Sequence[str] = PYTHONS) -> None:
    """Collects `wheel` and what it needs on the platform `target` and each Python. Raises
    `subprocess.SubprocessError` if pip cannot get them, or not in time."""
    folder.mkdir(parents=True, exist_ok=True)
    for python in pythons:
        words = [*_pip(target, python), "--dest", str(folder), *needed(wheel, python)]
        subprocess.run(words, check=True, timeout=_PATIENCE)
    if wheel.parent != folder:
        shutil.copy(wheel, folder)
    for file in folder.iterdir():
        if file.suffix == ".whl" and file.name.split("-")[0] in UNUSED:
            file.unlink()


def needed(wheel: Path, python: str) -> list[str]:
    """Returns what a wheel needs without extras on this Python (`3.14`). pip would ask for what it needs on the Python
    that pip runs on."""
    with ZipFile(wheel) as packed:
        [name] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        stated = message_from_bytes(packed.read(name)).get_all("Requires-Dist", [])
    there = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    found = [Requirement(one) for one in stated]
    return [f"{one.name}{one.specifier}" for one in found if one.marker is None or one.marker.evaluate(there)]


def _pip(target: str, python: str) -> list[str]:
    platforms = [f"--platform={tag}" for tag in TAGS[target]]
    version = [f"--python-version={python}", "--implementation=cp"]
    kind = ["--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--no-input"]
    constraints = [f"--constraint={_CONSTRAINTS}"]
    return [sys.executable, "-m", "pip", "download", *kind, *platforms, *version, *constraints]


def main(words: list[str]) -> int:
    """Runs the command line."""
    if words == ["--here"]:
        print(here() or "")
        return 0
    if len(words) != 3 or words[0] not in TAGS:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        download(words[0], Path(words[1]), Path(words[2]))
    except subprocess.SubprocessError:
        print(f"pip could not get the wheels for {words[0]}: see its output, and is there a network?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
