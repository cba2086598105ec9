"""Settings of an agent that are written while `ullage wire` is killed."""

import json
import signal
import subprocess
import sys
import time

from attacks.attack import Ground, Outcome, environment, ullage

# Seconds within which a command is killed.
_LATEST = 1.2
_FILES = (".claude/settings.json", ".claude.json")


def killed_wire(ground: Ground) -> Outcome:
    """Guards against settings that are torn, or files that are left, when `ullage wire` and `unwire` are killed: after
    the next runs the settings are as they were, byte for byte."""
    times, faults = ground.times(20, 300), list[str]()
    home = ground.folder / "home"
    (home / ".claude").mkdir(parents=True)
    before = {name: b'{"numStartups": 0}\n' for name in _FILES}
    for name, data in before.items():
        (home / name).write_bytes(data)
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
        said = ullage(home, (command, "claude-code", "--yes"), home).stderr.decode()
        if "Traceback" in said:
            faults.append(said.splitlines()[-1])
    faults += [f"{name} is not as it was" for name, data in before.items() if (home / name).read_bytes() != data]
    left = [path.name for folder in (home, home / ".claude") for path in folder.glob(".*") if ".ullage-" in path.name]
    left += [path.name for folder in (home, home / ".claude") for path in folder.glob("*.lock")]
    faults += [f"{name} is left" for name in left]
    return Outcome(tried=times, survived="settings whole, and as before after all", faults=tuple(faults))
