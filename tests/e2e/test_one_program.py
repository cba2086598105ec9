"""The server as one program does, where no Python is, what an installed Ullage does."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import program
from support.command_line import PATIENCE, SAMPLE
from support.documents import ROOT
from ullage.watch.unpacking import ZSTD_MODULE

pytestmark = pytest.mark.slow

Run = Callable[..., bytes]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the program, moved away from where it was made, for a user who has nothing."""
    work = tmp_path_factory.mktemp("program")
    try:
        # On Linux, the tests of VS Code's extension have the same one.
        made = made_once() if sys.platform == "linux" else made_here(work)
    except subprocess.SubprocessError:
        pytest.skip("pip can download nothing here")
    place = shutil.copytree(made.parent, work / "a folder with blanks") / made.name

    def run(*words: str | Path, stdin: bytes = b"") -> bytes:
        command, home = [str(place), *map(str, words)], {"HOME": str(work), "USERPROFILE": str(work)}
        return subprocess.run(
            command, input=stdin, check=True, stdout=subprocess.PIPE, timeout=PATIENCE, env=home, cwd=work
        ).stdout

    return run


def made_once() -> Path:
    command = [ROOT / "scripts" / "rigs" / "program.sh"]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=1_200).stdout.strip())


def made_here(work: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(work), str(ROOT)]
    subprocess.run(pip, check=True, capture_output=True, timeout=PATIENCE)
    return program.make(next(work.glob("*.whl")), work / "made")


def test_it_starts_its_own_server_and_finds_all_of_itself(run: Run) -> None:
    checks = {one["what"]: one["status"] for one in json.loads(run("doctor", "--json"))["checks"]}
    assert {name: checks[name] for name in ("vocabulary", "counting", "catalog", "server")} == dict.fromkeys(
        ("vocabulary", "counting", "catalog", "server"), "ok"
    )


def test_it_counts_what_an_installed_one_counts_compressed_too(run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "sample.jsonl.zst"
    packed.write_bytes(import_module(ZSTD_MODULE).compress(SAMPLE.read_bytes()))
    used = [json.loads(run("context", file, "--json"))["used"] for file in (SAMPLE, packed)]
    assert used == [38_164, 38_164]


def test_it_runs_modules_and_code_as_the_python_that_it_is_taken_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ullage.py").write_text("raise SystemExit('a module of the folder')")
    assert run("-P", "-m", "ullage", "--version").startswith(b"ullage ")
    assert run("-I", "-c", "import sys; print(sys.argv[1:])", "one") == b"['one']\n"


def test_the_status_line_needs_nothing_else(run: Run) -> None:
    said = b'{"context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 50000}}}'
    assert "25%" in run("statusline", stdin=said).decode()
