"""Stores: processes that append while they are killed, while others append, and while the disk is full; random
damage."""

import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from attacks.attack import Ground, Outcome
from support.appender import append_batch, ids_of
from support.logs import records
from ullage.model.events import MessageAppended, SessionCreated
from ullage.store import open_store

# Appending

_TESTS = Path(__file__).resolve().parents[2] / "tests"
_SESSION = "s"
# Seconds that a process which was killed, or has a fixed number of appends, may take to end.
_PATIENCE = 600
# Bytes at which the disk is full.
_DISK = 3_000_000


def kill_appenders(store: Path, times: int, chance: random.Random) -> Outcome:
    """Kills so many processes that append to one session, two at a time."""
    acknowledged: list[str] = []
    faults: list[str] = []
    for number in range(times // 2):
        children = [start_appender(store, f"child{number}{side}") for side in "ab"]
        for child in children:
            assert child.stdout
            acknowledged += [child.stdout.readline().strip() for _ in range(chance.randint(1, 8))]
        for child in children:
            child.send_signal(signal.SIGKILL)
        for child in children:
            acknowledged += (child.stdout.read() if child.stdout else "").split()
            child.wait(_PATIENCE)
        faults += check(store, [])
    acknowledged = [name for name in acknowledged if name not in ("", "starting")]
    faults += check(store, acknowledged)
    return Outcome(
        tried=times,
        survived=f"{len(acknowledged):,} acknowledged appends, each there once",
        faults=tuple(faults),
    )


def append_at_once(store: Path, count: int) -> Outcome:
    """Has eight processes append to one session at once, each so often. They wait for the store as long as it takes."""
    children = [start_appender(store, f"child{number}", str(count), "", "patient") for number in range(8)]
    said = [child.communicate(timeout=_PATIENCE)[0].split() for child in children]
    acknowledged = [name for names in said for name in names if name != "starting"]
    faults = check(store, acknowledged)
    if len(acknowledged) != 8 * count:
        faults.append(f"{8 * count - len(acknowledged)} appends were refused")
    return Outcome(tried=8 * count, survived=f"{len(acknowledged):,} appends, each there once", faults=tuple(faults))


def full_disk(ground: Ground) -> Outcome:
    """Guards against an append that is acknowledged and not stored when the disk is full, and against words that do not
    say so. A limit on the size of files plays the disk."""
    store, times = ground.folder / "sessions.db", ground.times(3, 50)
    acknowledged: list[str] = []
    faults: list[str] = []
    for number in range(times):
        child = start_appender(store, f"child{number}", limit=_fill_disk)
        out, errors = child.communicate(timeout=_PATIENCE)
        acknowledged += [name for name in out.split() if name != "starting"]
        if "StoreUnavailable" not in errors:
            faults.append(f"the process ended with {errors.splitlines()[-1:]}")
    faults += check(store, acknowledged)
    return Outcome(
        tried=times, survived=f"{len(acknowledged):,} acknowledged appends, each there once", faults=tuple(faults)
    )


def _fill_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_DISK, _DISK))


def start_appender(
    store: Path, name: str, *more: str, limit: Callable[[], None] | None = None
) -> "subprocess.Popen[str]":
    """Starts a process that appends to the store, see `support/appender.py`."""
    command = [sys.executable, "-m", "support.appender", str(store), _SESSION, name, *more]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if limit else subprocess.DEVNULL,
        text=True,
        cwd=_TESTS,
        preexec_fn=limit,  # noqa: PLW1509  (this process has no threads)
    )


def check(path: Path, acknowledged: list[str]) -> list[str]:
    """Returns what is wrong with the store: damage, and acknowledged appends that are not there whole and once."""
    if not path.exists():
        return []
    with sqlite3.connect(path) as database:
        (said,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    with open_store(path) as store:
        log = store.read(_SESSION) if store.list() else ()
    ids = Counter(record.event.message.id for record in log if isinstance(record.event, MessageAppended))
    wanted = [one for name in acknowledged for one in ids_of(name)]
    lost = [one for one in wanted if not ids[one]]
    doubled = [one for one, times in ids.items() if times > 1]
    return [
        *([] if said == "ok" else [f"the store is damaged: {said}"]),
        *([f"{len(lost)} messages are lost, such as {lost[0]}"] if lost else []),
        *([f"{len(doubled)} messages are there twice, such as {doubled[0]}"] if doubled else []),
    ]


# Damage

_SESSIONS = 12
# Reads and searches everything. Prints `read` with the number of messages, or `told` with the error's class.
_READER = """
import sys
from pathlib import Path
from ullage.model.errors import UllageError
from ullage.store import open_store
try:
    with open_store(Path(sys.argv[1])) as store:
        read = sum(len(store.read(info.session_id)) for info in store.list())
    print("read", read)
except UllageError as error:
    print("told", type(error).__name__)
"""


def damaged_store(ground: Ground) -> Outcome:
    """Guards against an internal error, a crash or a hang when the store's file is damaged. Bytes at random places are
    changed, zeroed or cut off; a process then reads every session."""
    whole = ground.folder / "whole.db"
    with open_store(whole) as store:
        for number in range(_SESSIONS):
            store.create(f"s{number}", records(SessionCreated()))
            append_batch(store, f"s{number}", f"m{number}")
    told = read = 0
    faults: list[str] = []
    times = ground.times(15, 400)
    for number in range(times):
        path = ground.folder / f"damaged{number}.db"
        shutil.copy(whole, path)
        _damage(path, ground)
        command = [sys.executable, "-c", _READER, str(path)]
        child = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        told += child.stdout.startswith("told")
        read += child.stdout.startswith("read")
        if not child.stdout.startswith(("told", "read")):
            faults.append(f"damage {number}: {child.stderr.splitlines()[-1:]}")
    return Outcome(tried=times, survived=f"{told} told as a StoreError, {read} read", faults=tuple(faults))


def _damage(path: Path, ground: Ground) -> None:
    data, chance = bytearray(path.read_bytes()), ground.chance
    at = chance.randrange(len(data))
    match chance.choice(("bytes", "zeros", "cut", "header")):
        case "bytes":
            for _ in range(200):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case "zeros":
            data[at : at + 8_192] = bytes(len(data[at : at + 8_192]))
        case "cut":
            del data[at:]
        case _:
            data[chance.randrange(100)] ^= 0xFF
    path.write_bytes(data)
