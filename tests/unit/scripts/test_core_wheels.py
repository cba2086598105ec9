"""The server that VS Code's extension includes: wheels that pip downloads, and an environment made of them offline."""

import json
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import core_wheels

ROOT = Path(__file__).resolve().parents[3]
MAKE = ROOT / "editors" / "vscode" / "server" / "make_environment.py"
SAMPLE = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
# Nothing answers there.
OFFLINE = {"PIP_NO_INDEX": "1", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
UNFIT = 3


def make(wheels: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(MAKE), str(wheels), str(folder)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env={**os.environ, **OFFLINE}
    )


def wheel(folder: Path, name: str, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as file:
        for module, text in files.items():
            file.writestr(f"{module}.py", text)


def stand_ins(folder: Path, tag: str = TAG) -> None:
    """Writes wheels of the modules that are built for one Python, with nothing in them."""
    for name in ("msgspec", "regex", "tiktoken"):
        wheel(folder, f"{name}-1.0-{tag}-{tag}-any.whl", **{name: ""})
    wheel(folder, "ullage-0.1.0-py3-none-any.whl", ullage="")


def test_the_environment_is_made_beside_its_place_and_can_be_moved(tmp_path: Path) -> None:
    stand_ins(tmp_path / "wheels")
    home = tmp_path / "a folder with blanks"
    made = make(tmp_path / "wheels", home / "server-1")
    assert made.returncode == 0, made.stderr
    assert [each.name for each in home.iterdir()] == ["server-1"]
    assert (home / "server-1" / "ready").is_file()
    again = make(tmp_path / "wheels", home / "server-1")
    assert again.returncode == 0
    assert [each.name for each in home.iterdir()] == ["server-1"]


def test_a_python_without_wheels_of_its_own_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    stand_ins(tmp_path / "wheels", "cp27")
    made = make(tmp_path / "wheels", tmp_path / "server")
    assert made.returncode == UNFIT
    assert made.stdout == f"the extension includes no msgspec, regex, tiktoken for {TAG}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["wheels"]


def test_modules_that_cannot_be_loaded_make_a_python_unfit(tmp_path: Path) -> None:
    stand_ins(tmp_path / "wheels")
    wheel(tmp_path / "wheels", f"regex-1.0-{TAG}-{TAG}-any.whl", regex="raise ImportError('wrong ELF class')")
    made = make(tmp_path / "wheels", tmp_path / "server")
    assert (made.returncode, made.stdout) == (UNFIT, "ImportError: wrong ELF class\n")
    assert not (tmp_path / "server").exists()


def test_the_wheels_that_fit_are_of_this_python_or_of_all() -> None:
    fitting = runpy.run_path(str(MAKE))["fitting"]

    class Folder:
        def glob(self, _: str) -> list[Path]:
            names = (
                "a-1-cp311-cp311-x.whl",
                "a-1-cp312-cp312-x.whl",
                "b-1-py2.py3-none-any.whl",
                "c-1-cp39-abi3-x.whl",
            )
            return [Path(name) for name in names]

    assert [each.name for each in fitting(Folder(), "cp312")] == [
        "a-1-cp312-cp312-x.whl",
        "b-1-py2.py3-none-any.whl",
        "c-1-cp39-abi3-x.whl",
    ]


@pytest.mark.skipif(core_wheels.here() is None, reason="VS Code has no platform of this machine's kind")
def test_the_server_counts_in_an_environment_of_wheels_that_pip_downloads(tmp_path: Path) -> None:
    target = core_wheels.here()
    assert target is not None
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    try:
        subprocess.run(pip, check=True, capture_output=True, timeout=300)
        [own] = wheels.iterdir()
        core_wheels.download(target, own, wheels, [f"{sys.version_info[0]}.{sys.version_info[1]}"])
    except subprocess.SubprocessError:
        pytest.skip("pip can download nothing here")
    made = make(wheels, tmp_path / "server")
    assert made.returncode == 0, made.stdout + made.stderr
    python = tmp_path / "server" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    environment = {**os.environ, **OFFLINE, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = [str(python), "-P", "-m", "ullage", "context", str(SAMPLE), "--json"]
    counted = subprocess.run(command, check=True, capture_output=True, timeout=300, env=environment)
    assert json.loads(counted.stdout)["used"] == 38_164
    # 6.0 MB, of which 2.8 are ours. An SDK of a provider alone would add more than the rest.
    assert sum(each.stat().st_size for each in wheels.iterdir()) < 6_500_000


@pytest.mark.parametrize("python", core_wheels.PYTHONS)
def test_what_a_wheel_needs_is_what_it_needs_on_the_python_that_is_asked_for(tmp_path: Path, python: str) -> None:
    file = tmp_path / "ullage-1-py3-none-any.whl"
    stated = ["both>=1", "old>=2,<3; python_version < '3.14'", "new; python_full_version >= '3.14'", "x; extra == 'y'"]
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("ullage-1.dist-info/METADATA", "\n".join(f"Requires-Dist: {one}" for one in stated) + "\n")
    assert core_wheels.needed(file, python) == ["both>=1", "new" if python == "3.14" else "old<3,>=2"]
