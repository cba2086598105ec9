"""Neovim's plugin from the address of its own repository, as `vim.pack` of Neovim 0.12 installs and updates it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from releasing.channels import build_plugin
from releasing.project import ROOT, read_project
from support.editors import SERVER, neovim, neovim_environment
from support.systems import needs_linux

pytestmark = [pytest.mark.slow, pytest.mark.editor, needs_linux]

# Adds the plugin as the README says.
INSTALL = """
vim.pack.add({{ 'file://{repository}' }}, {{ confirm = false }})
vim.o.statusline = "%{{%v:lua.require'ullage'.statusline()%}}"
"""
SHOW = "lua print(vim.fn.exists(':Ullage'), vim.fs.basename(vim.api.nvim_buf_get_name(0)), vim.g.newer or 'older')"
UPDATE = "lua vim.pack.update(nil, { force = true })"


def run(*command: str | Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def nvim(lacking: Callable[[str], Never]) -> Path:
    return neovim("0.12") or lacking("Neovim 0.12")


def test_one_line_installs_the_plugin_and_an_update_brings_its_next_version(nvim: Path, tmp_path: Path) -> None:
    names = {f"GIT_{who}_{what}": "u@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**neovim_environment(tmp_path), **names, "PATH": os.environ["PATH"]}
    (tree, _) = build_plugin(read_project(), ROOT, tmp_path)
    repository = tmp_path / "ullage.nvim.git"
    run("git", "init", "-q", "--bare", "-b", "main", repository, env=env)
    run(ROOT / "scripts" / "mirror_nvim", tree, repository, "1.0.0", env=env)
    (tmp_path / "init.lua").write_text(INSTALL.format(repository=repository))
    start = (nvim, "--headless", "-u", tmp_path / "init.lua")
    shown = ("+help ullage-keys", f"+{SHOW}", "+qall")
    assert "2 ullage.txt older" in run(*start, *shown, env=env)
    (tree / "plugin" / "newer.lua").write_text("vim.g.newer = 'newer'\n")
    run(ROOT / "scripts" / "mirror_nvim", tree, repository, "1.1.0", env=env)
    run(*start, f"+{UPDATE}", "+qall", env=env)
    assert "2 ullage.txt newer" in run(*start, *shown, env=env)
    # Only the server is left to install, and it is here.
    assert SERVER.name in run(*start, "+checkhealth ullage", "+%print", "+qall", env=env)
