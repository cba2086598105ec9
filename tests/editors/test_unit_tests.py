"""The editors' own unit tests, run by their own runners as part of ours."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Never

import pytest

from support.editors import EDITORS, NEOVIMS, SERVER, has_neovim_plugins, neovim, neovim_environment

VITEST = EDITORS / "vscode" / "node_modules" / ".bin" / "vitest"
LUA = EDITORS / "nvim" / "tests"
# The tests take half a minute, and far longer on a machine that is busy with all other tests.
SECONDS = 600


def run(*command: str, env: Mapping[str, str]) -> None:
    folder = EDITORS / "vscode"
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, f"{done.stdout[-10_000:]}\n{done.stderr[-10_000:]}"


@pytest.fixture(params=NEOVIMS)
def nvim(request: pytest.FixtureRequest, lacking: Callable[[str], Never]) -> str:
    program = neovim(request.param)
    if program is None:
        lacking(f"Neovim {request.param}")
    return str(program)


def test_the_vs_code_extension(lacking: Callable[[str], Never]) -> None:
    if not VITEST.exists():
        lacking("vitest of editors/vscode (npm ci)")
    run(str(VITEST), "run", env={**os.environ, "ULLAGE_PROGRAM": str(SERVER)})


# These start no server.
NEOVIM_FILES = (
    "choices",
    "continuing",
    "followed_rows",
    "following",
    "golden",
    "head",
    "lost",
    "prose",
    "team",
    "units",
    "view",
)


@pytest.mark.parametrize("name", NEOVIM_FILES)
def test_the_neovim_plugin(nvim: str, name: str, tmp_path: Path, lacking: Callable[[str], Never]) -> None:
    if not has_neovim_plugins():
        lacking("mini.test for Neovim")
    options = ("--clean", "--headless", "-u", str(LUA / "init.lua"), "-l", str(LUA / "run.lua"))
    run(nvim, *options, f"test_{name}.lua", env=neovim_environment(tmp_path))


def test_the_help_of_the_neovim_plugin_has_a_tag_for_every_command(nvim: str, tmp_path: Path) -> None:
    shutil.copytree(EDITORS / "nvim" / "doc", tmp_path / "doc")
    run(nvim, "--clean", "--headless", "-c", f"helptags {tmp_path / 'doc'}", "-c", "qall", env=dict(os.environ))
    tags = (tmp_path / "doc" / "tags").read_text()
    commands = (EDITORS / "nvim" / "lua" / "ullage" / "command.lua").read_text()
    names = re.findall(r"^  (\w+) = \{", commands.split("local COMMANDS")[1].split("\n}")[0], re.MULTILINE)
    assert len(names) == 14
    assert [name for name in names if f":Ullage-{name}\t" not in tags] == []
