"""Real Neovim with the real server: the plugin's story, a new user's first minutes, and a terminal."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest

from support.editors import EDITORS, NEOVIMS, ROOT, SERVER, STORY_NEOVIMS, neovim, neovim_environment
from support.neovim import SAMPLE, measure, newcomer
from support.panes import Pane
from support.systems import needs_linux

pytestmark = [pytest.mark.slow, pytest.mark.editor, needs_linux]

TESTS = EDITORS / "nvim" / "tests"
# Seconds, for a whole file of stories on a busy machine.
PATIENCE = 300.0


@pytest.fixture(params=STORY_NEOVIMS)
def nvim(request: pytest.FixtureRequest, lacking: Callable[[str], Never]) -> Path:
    return neovim(request.param) or lacking(f"Neovim {request.param}")


# Each drives a Neovim with the real server.
FILES = ("buffer", "edits", "help", "notices", "server", "session", "statusline", "transcripts", "wiring")


STORIES = [
    pytest.param(version, name, marks=[] if version == NEOVIMS[-1] or name == "server" else pytest.mark.long)
    for version in NEOVIMS
    for name in FILES
]


@pytest.mark.minutes
@pytest.mark.parametrize(("version", "name"), STORIES)
def test_the_story_in_lua_passes(version: str, name: str, tmp_path: Path, lacking: Callable[[str], Never]) -> None:
    nvim = neovim(version) or lacking(f"Neovim {version}")
    options = ("--clean", "--headless", "-u", TESTS / "init.lua", "-l", TESTS / "run.lua", f"test_{name}.lua")
    done = subprocess.run(
        [nvim, *options],
        env=neovim_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def newest(lacking: Callable[[str], Never]) -> Path:
    return neovim(NEOVIMS[-1]) or lacking(f"Neovim {NEOVIMS[-1]}")


# Drawing without a terminal fails an assertion of Neovim's own in 0.11.4.
def test_each_appended_message_shows_its_own_figure_in_the_statusline(newest: Path, tmp_path: Path) -> None:
    # The script fails if the statusline stays as it is, or shows the figure of an earlier message.
    assert len(measure(newest, SERVER, tmp_path).append_to_statusline_ms) == 100


@pytest.mark.minutes
def test_a_newcomer_sees_a_figure_by_the_readmes_first_commands(newest: Path, tmp_path: Path) -> None:
    rig = ROOT / "scripts" / "rigs" / "pipx.sh"
    pipx = subprocess.run([rig], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout.strip()
    newcomer(newest, Path(pipx), tmp_path)


@pytest.fixture
def pane(nvim: Path, tmp_path: Path, lacking: Callable[[str], Never]) -> Iterator[Pane]:
    if shutil.which("tmux") is None:
        lacking("tmux")
    pane = Pane(tmp_path / "tmux")
    terminal = {**neovim_environment(tmp_path), "TERM": "screen-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    pane.start([str(nvim), "--clean", "-u", str(TESTS / "init.lua")], terminal)
    yield pane
    pane.stop()


def test_nothing_stops_the_user_with_a_prompt(pane: Pane) -> None:
    long = "('a long notice of several lines\\n'):rep(30)"
    pane.type(f":lua for _ = 1, 3 do require('ullage.notices').say({long}) end", "Enter")
    shown = pane.wait(lambda text: "a long notice" in text.splitlines()[-1])
    assert "Press ENTER" not in shown
    pane.type(f":Ullage import {SAMPLE}", "Enter")
    pane.wait(lambda text: "ctx ~61% 38K/63K" in text)
    ready = "require('ullage.events').on('ready', function() vim.o.statusline = 'the server is back' end)"
    killed = "vim.uv.kill(tonumber(vim.fn.system('pgrep -P ' .. vim.fn.getpid() .. ' -f \"ullage lsp\"')), 9)"
    pane.type(f":lua {ready}; {killed}", "Enter")
    shown = pane.wait(lambda text: text.splitlines()[-2].startswith("the server is back"))
    assert "Press ENTER" not in shown


def test_a_user_imports_looks_compacts_and_undoes(pane: Pane) -> None:
    pane.type(f":Ullage import {SAMPLE}", "Enter")
    pane.wait(lambda text: "ctx ~61% 38K/63K" in text)
    pane.type(":Ullage context", "Enter")
    pane.type(":only", "Enter")
    figure = "~61% full, compacts at 68% · 38K of 63K"
    pane.wait(lambda text: "The plan: refresh tokens" in text and figure in text)
    pane.type("cc")
    pane.wait(lambda text: "1: Compact" in text)
    pane.type("1", "Enter")
    shown = pane.wait(lambda text: "◈ Compacted #1" in text and "✓ 38K → " in text)
    assert "archived messages" in shown
    assert re.search(r"^\W*## [A-Z]", shown, re.MULTILINE), shown
    pane.type("u")
    shown = pane.wait(lambda text: "1: Undo" in text)
    assert "the context will be at 61 %" in shown
    pane.type("1", "Enter")
    pane.wait(lambda text: "◈ Compacted" not in text and "ctx ~61% 38K/63K" in text)
