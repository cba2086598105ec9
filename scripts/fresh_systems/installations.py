"""The ways in which users install what a release publishes, each with its first figure."""

import re
from pathlib import Path
from typing import NamedTuple

from fresh_systems.machine import Broken, Machine, machine

# Debian's releases with the Python that each has. No release has Python 3.12.
SYSTEMS = {"bookworm": "3.11", "trixie": "3.13", "sid": "3.14"}
_TRANSCRIPT = "/root/conversation.jsonl"
_FIGURE = re.compile(r"[▓░\]] {2}(\d+%)|ctx \D*(\d+%)")


class Way(NamedTuple):
    """How one of the files is installed.

    `file` is its name in the release's folder, as a pattern, and is copied to `/release/`. `packages` are those of
    Debian that the user has. `install` is what the user types, with a network if `network`, and `figure` shows the
    first figure, always without one. `suites` are the systems whose packages are as new as it needs.
    """

    name: str
    file: str
    packages: str
    install: str
    figure: str = f"ullage context {_TRANSCRIPT}"
    network: bool = True
    suites: tuple[str, ...] = tuple(SYSTEMS)


class Tried(NamedTuple):
    """How an installation ended: the seconds of both steps, and the figure; `fault` if there was none."""

    system: str
    way: str
    install: float = 0.0
    first: float = 0.0
    figure: str = ""
    fault: str = ""


_VENV = "python3 -m venv {0} && {0}/bin/pip install -q"
_PIP = f"{_VENV.format('/opt/ullage')} %s && ln -s /opt/ullage/bin/ullage /usr/local/bin/"
_SITE = "/root/.local/share/nvim/site/pack/ullage/start"
# As the plugin's README writes it.
_STATUSLINE = """mkdir -p /root/.config/nvim && cat > /root/.config/nvim/init.lua <<'END'
vim.o.statusline = "%f %=%{%v:lua.require'ullage'.statusline()%} "
END
"""
WAYS = (
    Way("the wheel by pip", "ullage-*.whl", "python3-venv", _PIP % "/release/*.whl"),
    Way("the wheel by pipx", "ullage-*.whl", "pipx", "pipx install /release/*.whl"),
    Way(
        "the wheel by uv",
        "ullage-*.whl",
        "python3-venv",
        f"{_VENV.format('/opt/uv')} uv && /opt/uv/bin/uv tool install -q /release/*.whl",
    ),
    Way("the source archive by pip", "ullage-[0-9]*.tar.gz", "python3-venv", _PIP % "/release/*.tar.gz"),
    Way(
        "VS Code's package, its server",
        "ullage-*-linux-x64.vsix",
        "unzip",
        "cd /opt && unzip -q /release/*.vsix",
        # The extension starts it by its path.
        f"/opt/extension/bundled/program/bin/ullage context {_TRANSCRIPT}",
        network=False,
    ),
    Way(
        "Neovim's plugin, with the server on PATH",
        "ullage*",
        "python3-venv neovim",
        f"{_PIP % '/release/*.whl'} && mkdir -p {_SITE} && "
        f"tar -xzf /release/ullage.nvim-*.tar.gz -C {_SITE} && {_STATUSLINE}",
        f"ULLAGE_SAMPLE={_TRANSCRIPT} nvim --headless -S /release/newcomer.lua",
        # Debian 12 has Neovim 0.7, and Debian 13 has 0.10.
        suites=("sid",),
    ),
)


def files_of(way: Way, out: Path) -> list[Path]:
    """Returns what a release has for a way. Neovim's plugin is there as a folder, too."""
    return sorted(file for file in out.glob(way.file) if file.is_file())


def install(way: Way, suite: str, base: Path, files: list[Path], transcript: Path) -> Tried:
    """Installs the files on a system of their own, and asks for the first figure of a transcript."""
    tried = Tried(f"Debian {suite}, Python {SYSTEMS[suite]}", way.name)
    try:
        with machine(base, way.packages) as system:
            for file in files:
                system.put(file, f"/release/{file.name}")
            system.put(transcript, _TRANSCRIPT)
            return _first_figure(way, system, tried)
    except Broken as fault:
        return tried._replace(fault=str(fault))


def _first_figure(way: Way, system: Machine, tried: Tried) -> Tried:
    installed = system.run(way.install, network=way.network)
    shown = system.run(way.figure, network=False)
    figure = figure_in(shown.output)
    if figure is None:
        raise Broken(f"{way.figure} shows no figure:\n{shown.output[-2000:]}")
    return tried._replace(install=installed.seconds, first=shown.seconds, figure=figure)


def figure_in(shown: str) -> str | None:
    """Returns how full a context is, as the command line or Neovim's status line shows it, or None."""
    found = _FIGURE.search(shown)
    return found and (found[1] or found[2])
