"""Settings of agents that are no files, or are written while `ullage wire` is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from attacks.attack import Ground, Outcome, environment, ullage

# Kilobytes that a command may hold more than with settings as they should be: three times the largest that are read.
_MOST = 96 << 10
# Seconds within which a command is killed.
_LATEST = 1.2
_AGENTS = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini-cli": (".gemini/settings.json",),
    "qwen-code": (".qwen/settings.json",),
    "opencode": (".config/opencode/opencode.json",),
    "pi": (".pi/agent/settings.json",),
}


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        before = Path.cwd()
        # The path of a socket may have some hundred characters only.
        os.chdir(path.parent)
        try:
            one.bind(path.name)
        finally:
            os.chdir(before)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


_KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "a socket": _socket,
    "a loop of links": lambda path: path.symlink_to(path),
    "1 GB without content": _sparse,
    "30 MB of text": lambda path: path.write_bytes(b"x" * (30 << 20)),
    "nested 3,000 deep": lambda path: path.write_bytes(b'{"a":' * 3_000 + b"1" + b"}" * 3_000),
}


def hostile_settings(ground: Ground) -> Outcome:
    """Guards against commands that wait for a pipe, fill the memory, or print a traceback because of what is in the
    place of an agent's settings."""
    faults, tried = list[str](), 0
    for word, places in _AGENTS.items():
        usual = _home(ground.folder / f"{word}-usual", "", None)
        commands: list[tuple[str, ...]] = [("wire", word, "--yes"), ("unwire", word, "--yes")]
        # It looks at all agents, and takes longest.
        commands += [("doctor",)] if ground.is_long or word == "claude-code" else []
        least = {words: _run(usual, *words)[1] for words in commands}
        for place in places:
            for kind, make in _KINDS.items():
                home = _home(ground.folder / f"{word}-{tried}", place, make)
                for words in commands if ground.is_long or word == "claude-code" else commands[:1]:
                    tried += 1
                    said, memory = _run(home, *words)
                    where, more = f"{place} is {kind}: {' '.join(words)}", memory - least[words]
                    if "Traceback" in said:
                        faults.append(f"{where}: {said.splitlines()[-1]}")
                    if more > _MOST:
                        faults.append(f"{where} took {more >> 10} MB more")
    return Outcome(tried=tried, survived=f"{tried - len(faults)} ended in words", faults=tuple(faults))


def killed_wire(ground: Ground) -> Outcome:
    """Guards against settings that are torn, or files that are left, when `ullage wire` and `unwire` are killed: after
    the next runs the settings are as they were, byte for byte."""
    times, faults = ground.times(20, 300), list[str]()
    home = _home(ground.folder / "home", "", None)
    before = {name: (home / name).read_bytes() for name in _AGENTS["claude-code"]}
    for number in range(times):
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "ullage", "wire" if number % 2 else "unwire", "claude-code", "--yes"],
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(ground.chance.uniform(0, _LATEST))
        child.send_signal(signal.SIGKILL)
        child.wait()
        for name in before:
            json.loads((home / name).read_bytes())
    for command in ("wire", "unwire"):
        said, _ = _run(home, command, "claude-code", "--yes")
        if "Traceback" in said:
            faults.append(said.splitlines()[-1])
    faults += [f"{name} is not as it was" for name, data in before.items() if (home / name).read_bytes() != data]
    left = [path.name for folder in (home, home / ".claude") for path in folder.glob(".*") if ".ullage-" in path.name]
    left += [path.name for folder in (home, home / ".claude") for path in folder.glob("*.lock")]
    faults += [f"{name} is left" for name in left]
    return Outcome(tried=times, survived="settings whole, and as before after all", faults=tuple(faults))


def _home(home: Path, place: str, make: Callable[[Path], object] | None) -> Path:
    """Makes a home folder with settings of all agents, one of which is of another kind."""
    for name in (name for places in _AGENTS.values() for name in places):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        if name == place and make is not None:
            make(home / name)
        else:
            (home / name).write_text("" if name.endswith(".toml") else '{"numStartups": 0}\n', "utf-8")
    return home


def _run(home: Path, *words: str) -> tuple[str, int]:
    """Runs a command. Returns what it has printed, and the most memory that it has held, in kilobytes."""
    ran = ullage(home, words, home, before=("/usr/bin/env", "python3", "-c", _MEASURED))
    printed = ran.stdout + ran.stderr
    text, _, memory = printed.decode("utf-8", "replace").rpartition("most memory: ")
    return text, int(memory.split()[0])


# Runs a program and prints the most memory that it, without its children, has held.
_MEASURED = """
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
sys.stderr.write(f"most memory: {used.ru_maxrss}\\n")
"""
