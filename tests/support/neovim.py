"""A real Neovim: its environment, how soon a new figure shows, what an update costs, how soon a new user is set up."""

import os
import re
import subprocess
import textwrap
import time
from pathlib import Path

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
RIGS = Path(os.environ.get("ULLAGE_RIGS", ROOT / ".rigs"))
PLUGINS = RIGS / "nvim-plugins" / "root" / "usr" / "share"
SAMPLE = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
_PLUGIN = ROOT / "editors" / "nvim"
_TESTS = _PLUGIN / "tests"
# Seconds, for a whole file of measurements or a package manager on a slow network.
_PATIENCE = 300.0
_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Measured(Struct, frozen=True, kw_only=True):
    """The output of `measure.lua`, in milliseconds."""

    append_to_statusline_ms: list[float]
    update_ms: dict[str, float]
    update_ratio: float


def environment(home: Path, server: Path) -> dict[str, str]:
    """Returns the environment for the plugin's Lua scripts: folders of their own, a server, mini.test and lualine."""
    return {
        **os.environ,
        **{name: str(home / name) for name in _XDG},
        "HOME": str(home),
        "ULLAGE_SERVER": str(server),
        "ULLAGE_STORE": str(home / "store.db"),
        "ULLAGE_PLUGINS": str(PLUGINS),
    }


def measure(nvim: Path, server: Path, home: Path) -> Measured:
    """Runs `measure.lua` once. Raises `CalledProcessError` if it fails."""
    command = [nvim, "--clean", "--headless", "-u", _TESTS / "init.lua", "-l", _TESTS / "measure.lua"]
    # A window large enough that nothing is compacted during the measurement.
    wanted = {**environment(home, server), "ULLAGE_WINDOW": "1000000"}
    done = subprocess.run(command, env=wanted, capture_output=True, text=True, check=True, timeout=_PATIENCE)
    return _measured(done.stdout + done.stderr)


def newcomer(nvim: Path, pipx: Path, home: Path) -> float:
    """Returns the seconds from the README's first command to the figure in the statusline, on a machine without Ullage.

    `pipx` is the folder that holds pipx. Raises `CalledProcessError` if a step fails.
    """
    steps = _readme_blocks()
    clean = _clean_environment(home, pipx)
    began = time.monotonic()
    _run(["bash", "-euc", steps["sh"]], clean)
    configuration = home / ".config" / "nvim" / "init.lua"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(steps["lua"].replace("~/ullage/", f"{ROOT}/"))
    _run([str(nvim), "--headless", "-S", str(_TESTS / "newcomer.lua")], {**clean, "ULLAGE_SAMPLE": str(SAMPLE)})
    return time.monotonic() - began


def _measured(printed: str) -> Measured:
    [line] = [line for line in printed.splitlines() if line.startswith("{")]
    return msgspec.json.decode(line, type=Measured)


def _readme_blocks() -> dict[str, str]:
    """Returns the README's first code block of each language."""
    blocks: dict[str, str] = {}
    for _, language, text in _FENCE.findall((_PLUGIN / "README.md").read_text()):
        blocks.setdefault(language, textwrap.dedent(text))
    return blocks


def _clean_environment(home: Path, pipx: Path) -> dict[str, str]:
    """Returns this machine's environment with an empty home and without Ullage. pipx puts programs into
    ~/.local/bin."""
    ours = re.compile(r"ULLAGE|XDG|VIRTUAL_ENV|PYTHON")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    folders = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "ullage").exists()]
    path = ":".join([str(home / ".local" / "bin"), str(pipx), *folders])
    return {**kept, "HOME": str(home), "PATH": path}


def _run(command: list[str], env: dict[str, str]) -> None:
    subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=_PATIENCE)
