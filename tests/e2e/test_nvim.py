"""Real Neovim, 0.10 and 0.12, with the real server: the plugin's story, a new user's first minutes, and a terminal."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Never

import pytest

from benches.neovim import SAMPLE, measure, newcomer
from support.editors import EDITORS, NEOVIMS, ROOT, SERVER, neovim, neovim_environment

pytestmark = [pytest.mark.slow, pytest.mark.editor]

TESTS = EDITORS / "nvim" / "tests"
# Seconds, for a whole file of stories on a busy machine.
PATIENCE = 300.0
TERMINAL_PATIENCE = 20.0


@pytest.fixture(params=NEOVIMS)
def nvim(request: pytest.FixtureRequest, lacking: Callable[[str], Never]) -> Path:
    return neovim(request.param) or lacking(f"Neovim {request.param}")


@pytest.mark.parametrize("story", ["test_story.lua", "test_chat.lua"])
def test_the_story_in_lua_passes(nvim: Path, story: str, tmp_path: Path) -> None:
    options = ("--clean", "--headless", "-u", TESTS / "init.lua", "-l", TESTS / "run.lua", story)
    done = subprocess.run(
        [nvim, *options],
        env=neovim_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_figure_is_in_the_statusline_within_a_tenth_of_a_second(nvim: Path, tmp_path: Path) -> None:
    measured = measure(nvim, SERVER, tmp_path)
    assert median(measured.append_to_statusline_ms) < 100
    assert measured.update_ratio < 5


def test_a_newcomer_sees_a_figure_within_two_minutes_of_the_readmes_first_command(nvim: Path, tmp_path: Path) -> None:
    rig = ROOT / "scripts" / "rigs" / "pipx.sh"
    pipx = subprocess.run([rig], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout.strip()
    assert newcomer(nvim, Path(pipx), tmp_path) < 120


class Pane:
    """A terminal of the test's own, as a user sees it."""

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
def pane(nvim: Path, tmp_path: Path, lacking: Callable[[str], Never]) -> Iterator[Pane]:
    if shutil.which("tmux") is None:
        lacking("tmux")
    pane = Pane(tmp_path / "tmux")
    terminal = {**neovim_environment(tmp_path), "TERM": "screen-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    pane.start([str(nvim), "--clean", "-u", str(TESTS / "init.lua")], terminal)
    yield pane
    pane.stop()


def test_a_user_imports_looks_compacts_and_undoes(pane: Pane) -> None:
    pane.type(f":Ullage import {SAMPLE}", "Enter")
    pane.wait(lambda text: "ctx ~61% 38K/63K" in text)
    pane.type(":Ullage context", "Enter")
    pane.type(":only", "Enter")
    shown = pane.wait(lambda text: "The plan: refresh tokens" in text)
    assert "~61%   38K of 63K, compacts at 43K" in shown
    pane.type("c")
    shown = pane.wait(lambda text: "◈ Compacted #1" in text and "✓ 38K → " in text)
    assert "archived messages" in shown
    assert re.search(r"^\W*## [A-Z]", shown, re.MULTILINE), shown
    pane.type("u")
    shown = pane.wait(lambda text: "1: Undo" in text)
    assert "the context will be at 61 %" in shown
    pane.type("1", "Enter")
    pane.wait(lambda text: "◈ Compacted" not in text and "ctx ~61% 38K/63K" in text)
