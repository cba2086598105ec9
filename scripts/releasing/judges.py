"""The programs by which each channel reads what it is given."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.outcomes import Failed, Missing, run
from releasing.project import Project

Judge = Callable[[Project, Path], Sequence[Path]]


def check_generated(root: Path) -> list[Path]:
    """Checks that the repository's own manifests have this version: `server.json` of the MCP registry, the
    plugins of Claude Code and Gemini CLI, the extension's manifest. Returns no files."""
    run([sys.executable, root / "scripts" / "gen_protocol.py", "--check"], root)
    return []


def check_formula(_: Project, out: Path) -> list[Path]:
    """Has Ruby read Homebrew's formula."""
    formula = out / "homebrew" / "Formula" / "ullage.rb"
    run([_program("ruby", "ruby"), "-c", formula], out)
    return [formula]


def check_expression(_: Project, out: Path) -> list[Path]:
    """Has Nix read the expression of nixpkgs."""
    expression = out / "nixpkgs" / "ullage" / "package.nix"
    run([_program("nix-instantiate", "nix-bin"), "--parse", expression], out)
    return [expression]


def check_rock(project: Project, out: Path) -> list[Path]:
    """Has LuaRocks read the rockspec, and install the plugin's archive by it into an empty folder."""
    luarocks = _program("luarocks", "luarocks")
    rockspec = out / "luarocks" / f"{project.name}.nvim-{project.version}-1.rockspec"
    run([luarocks, "lint", rockspec], out)
    archive = f"{project.name}.nvim-{project.version}"
    with TemporaryDirectory(prefix="ullage-rock-") as folder:
        run(["tar", "-xzf", out / f"{archive}.tar.gz"], Path(folder))
        # Installs from the unpacked archive: nothing is published that could be downloaded.
        tree = Path(folder) / "tree"
        run([luarocks, "--tree", tree, "make", rockspec], Path(folder) / archive)
        if not [*tree.glob("share/lua/*/ullage/client.lua")] or not [*tree.glob("lib/**/lsp/ullage.lua")]:
            raise Failed("LuaRocks installed no client.lua, or no lsp/ullage.lua")
    return [rockspec]


def check_lsp_config(_: Project, out: Path) -> list[Path]:
    """Has Neovim load the file for nvim-lspconfig and look up its client by name."""
    neovim = _program("nvim", "neovim")
    folder = out / "nvim-lspconfig"
    look_up = "lua local c = assert(dofile('lsp/ullage.lua')); assert(c.cmd[1] == 'ullage' and c.cmd[2] == 'lsp')"
    run([neovim, "--headless", "-u", "NONE", "+" + look_up, "+cquit 0"], folder)
    return [folder / "lsp" / "ullage.lua"]


# Each channel of which a file was filled in, with the program that reads it there.
JUDGES: Mapping[str, Judge] = {
    "Homebrew": check_formula,
    "nixpkgs": check_expression,
    "LuaRocks": check_rock,
    "nvim-lspconfig": check_lsp_config,
}


def _program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name} (Debian: {package})")
    return found
