"""Real Neovim, 0.10 and 0.12, with the real server: the plugin's Lua tests, and a terminal as a person sees it."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.editor]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "editors" / "nvim" / "tests"
SAMPLE = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
RIGS = Path(os.environ.get("ULLAGE_RIGS", ROOT / ".rigs"))
VERSIONS = ["0.10", "0.12"]
# A whole file of stories on a busy machine, seconds.
PATIENCE = 300.0
TERMINAL_PATIENCE = 20.0


@pytest.fixture(scope="module", params=VERSIONS)
def nvim(request: pytest.FixtureRequest) -> str:
    """The path of a real Neovim of the version, unpacked if it is not there yet."""
    rig = ROOT / "scripts" / "rigs" / "nvim.sh"
    made = subprocess.run([rig, request.param], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An editor's own directories, and where the real server is."""
    server = shutil.which("ullage", path=f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}")
    assert server is not None
    folders = {name: str(tmp_path / name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    plugins = RIGS / "nvim-plugins" / "root" / "usr" / "share"
    return {
        **os.environ,
        **folders,
        "HOME": str(tmp_path),
        "ULLAGE_SERVER": server,
        "ULLAGE_STORE": str(tmp_path / "s.db"),
        "ULLAGE_PLUGINS": str(plugins),
    }


def run_lua(nvim: str, environment: dict[str, str], script: str, *arguments: str) -> str:
    command = [nvim, "--clean", "--headless", "-u", TESTS / "init.lua", "-l", TESTS / script, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("file", ["test_units.lua", "test_golden.lua", "test_story.lua"])
def test_lua_tests_pass(nvim: str, environment: dict[str, str], file: str) -> None:
    assert "Fails (0)" in run_lua(nvim, environment, "run.lua", file).replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_a_new_figure_is_in_the_statusline_within_a_tenth_of_a_second(nvim: str, environment: dict[str, str]) -> None:
    printed = run_lua(nvim, {**environment, "ULLAGE_WINDOW": "1000000"}, "measure.lua")
    measured = json.loads(printed.strip().splitlines()[-1])
    assert measured["append_to_statusline_ms"]["p50"] < 100
    assert measured["update_ratio"] < 5


def test_the_help_has_tags_for_every_command(nvim: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "editors" / "nvim" / "doc", tmp_path / "doc")
    command = [nvim, "--clean", "--headless", "-c", f"helptags {tmp_path / 'doc'}", "-c", "qall"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stderr.strip() == ""
    tags = (tmp_path / "doc" / "tags").read_text()
    commands = [path.stem for path in (TESTS.parent / "lua" / "ullage" / "commands").glob("*.lua")]
    assert commands
    assert [name for name in commands if f":Ullage-{name}\t" not in tags] == []


def test_the_lua_is_formatted_and_has_no_warnings() -> None:
    rig = ROOT / "scripts" / "rigs" / "lua.sh"
    done = subprocess.run([rig], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Pane:
    """A terminal of its own, as a person sees it."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def start(self, command: list[str], environment: dict[str, str]) -> None:
        subprocess.run(
            [*self._tmux, "new-session", "-d", "-x", "110", "-y", "34", *command], env=environment, check=True
        )

    def type(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def text(self) -> str:
        return subprocess.run([*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def wait(self, wanted: Callable[[str], bool]) -> str:
        end = time.monotonic() + TERMINAL_PATIENCE
        while not wanted(text := self.text()):
            assert time.monotonic() < end, text
            time.sleep(0.05)
        return text

    def stop(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def pane(nvim: str, environment: dict[str, str], tmp_path: Path) -> Iterator[Pane]:
    if shutil.which("tmux") is None:
        pytest.fail("tmux is needed. On Debian: apt-get install tmux")
    pane = Pane(tmp_path / "tmux")
    terminal = {**environment, "TERM": "screen-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    pane.start([nvim, "--clean", "-u", str(TESTS / "init.lua")], terminal)
    yield pane
    pane.stop()


def test_a_person_imports_looks_compacts_and_undoes(pane: Pane) -> None:
    pane.type(f":Ullage import {SAMPLE}", "Enter")
    pane.wait(lambda text: "ctx ~61% 38K/63K" in text)
    pane.type(":Ullage context", "Enter")
    pane.type(":only", "Enter")
    shown = pane.wait(lambda text: "The plan: refresh tokens" in text)
    assert "~61%   38K of 63K, compacts at 43K" in shown
    pane.type("c")
    shown = pane.wait(lambda text: "◈ Compacted #1" in text and "✓ 38K → " in text)
    assert "archived messages" in shown
    assert "## Task" in shown
    pane.type("u")
    shown = pane.wait(lambda text: "1: Undo" in text)
    assert "the context will be at 61 %" in shown
    pane.type("1", "Enter")
    pane.wait(lambda text: "◈ Compacted" not in text and "ctx ~61% 38K/63K" in text)
