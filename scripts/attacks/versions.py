"""Several versions of Ullage on one machine, and copies of a store that is in use."""

import json
import subprocess
import sys
from pathlib import Path

from attacks.appending import check, start_appender
from attacks.attack import PATIENCE, Ground, Outcome, last_line, python
from attacks.stores import READER
from support.appender import append_batch
from support.logs import records
from ullage.agents.table import AGENTS
from ullage.app.agent_wiring import OwnCommand, Receipt, WiredFile, added_to
from ullage.cli.commands.doctor import silent_hooks
from ullage.model.events import SessionCreated
from ullage.store import open_store
from ullage.store.sqlite.database import VERSION, copy_before

_ROOT = Path(__file__).resolve().parents[2]
_SESSION = "s"
_OLDEST = 4
# Appends of a process that is ended before, and the words of each message.
_MANY, _WORDS = "1000000", "50"
_WRITER = """
import sys
from pathlib import Path
sys.path.append(sys.argv[2])
from support.appender import append_batch
from support.logs import records
from ullage.model.events import SessionCreated
from ullage.store import open_store
with open_store(Path(sys.argv[1])) as store:
    store.create("s", records(SessionCreated()))
    for number in range(20):
        append_batch(store, "s", f"m{number}")
"""


def versions(ground: Ground) -> Outcome:
    """Guards against a store that a newer Ullage can't read or changes silently, an older one that fails without words
    on the store of a newer one, and hooks of an older one that go silent unnoticed. The older ones are the last commits
    with each version of the store."""
    faults, tried = list[str](), 0
    for version in range(_OLDEST, VERSION):
        older = _checkout(ground.folder, version)
        if older is None:
            continue
        tried += 1
        store = ground.folder / f"version{version}.db"
        wrote = python(_WRITER, str(store), str(older.parent / "tests"), path=older)
        if wrote.returncode:
            faults.append(f"version {version} wrote nothing: {last_line(wrote)}")
            continue
        before = python(READER, str(store), path=older).stdout.split()
        with open_store(store) as opened:
            now = ["read", str(len(opened.read(_SESSION)))]
            append_batch(opened, _SESSION, "newer")
        if before != now:
            faults.append(f"version {version}: {before} records became {now}")
        if not copy_before(store, version).exists():
            faults.append(f"version {version}: no copy from before the upgrade")
        after = python(READER, str(store), path=older)
        if after.stdout.split()[:1] != ["told"]:
            faults.append(f"version {version} on a newer store: {(after.stdout + after.stderr).splitlines()[-1:]}")
        if "older than this one" not in silent_hooks(_wired(older, ground.folder), store):
            faults.append(f"version {version}: doctor does not name its hooks")
    if not tried:
        return Outcome(tried=0, survived="skipped: there is no history with older versions")
    survived = f"{tried} versions: read by the newer, refused in words by the older, hooks named"
    return Outcome(tried=tried, survived=survived, faults=tuple(faults))


def _checkout(folder: Path, version: int) -> Path | None:
    """Returns the server's folder of the last commit whose store had this version, None if git does not have it."""
    git = ["git", "-C", str(_ROOT)]
    # The tables were in a file of their own before.
    places = ("*migrations.py", "*sqlite/database.py")
    log = [*git, "log", "--reverse", "--format=%H", f"-S_V{version + 1}", "--", *places]
    first, *_ = [*subprocess.run(log, capture_output=True, text=True, check=False).stdout.split(), ""]
    place = folder / f"older{version}"
    place.mkdir()
    packed = subprocess.run([*git, "archive", f"{first}^", "server", "tests"], capture_output=True, check=False)
    if packed.returncode:
        return None
    subprocess.run(["tar", "-x", "-C", str(place)], input=packed.stdout, check=True)
    return place / "server"


def _wired(server: Path, folder: Path) -> Receipt:
    """Returns the receipt of settings whose hooks run an older version."""
    program = folder / f"{server.parent.name}.sh"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={server} exec {sys.executable} -m ullage "$@"\n', "utf-8")
    program.chmod(0o755)
    wiring = next(agent.wiring for agent in AGENTS if agent.wiring and agent.wiring.word == "claude-code")
    added = added_to(wiring.files[0], wiring.word, OwnCommand(words=(str(program),)), "")
    return Receipt(agent="Claude Code", files=(WiredFile(path="settings.json", added=added, before=None, after=b""),))


def backups(ground: Ground) -> Outcome:
    """Guards against a copy that lacks what was acknowledged before it began, or is damaged, when `ullage store copy`
    is run while two processes append."""
    store, faults, times, kept = ground.folder / "sessions.db", list[str](), ground.times(5, 60), 0
    with open_store(store) as opened:
        opened.create(_SESSION, records(SessionCreated()))
    children = [start_appender(store, f"child{side}", _MANY, _WORDS) for side in "ab"]
    try:
        for number in range(times):
            said = list[str]()
            for child in children:
                assert child.stdout
                said += [child.stdout.readline().strip() for _ in range(10)]
            target = ground.folder / f"copy{number}.db"
            command = [sys.executable, "-m", "ullage", "store", "copy", str(store), str(target), "--json"]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if ran.returncode or not json.loads(ran.stdout)["sha256"]:
                faults.append(f"the copy failed: {last_line(ran)}")
                continue
            said = [name for name in said if name != "starting"]
            faults += check(target, said)
            kept += len(said)
    finally:
        for child in children:
            child.kill()
            child.wait()
    return Outcome(tried=times, survived=f"{kept:,} appends from just before, each in its copy", faults=tuple(faults))
