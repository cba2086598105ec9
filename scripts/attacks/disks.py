"""Real disks that become read-only in the middle, or have no memory that processes share (then a store has a rollback
journal in place of a write-ahead log): file systems in a mount namespace of their own.

The part that mounts runs as a program of its own, `python -m attacks.disks KIND FOLDER TIMES`, and prints its outcome
as JSON. It needs Linux, `unshare` and the right to mount.
"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from attacks.attack import Ground, Outcome
from attacks.stores import append_at_once, check, kill_appenders
from support.appender import append_batch
from support.fuse_folder import mounted
from support.logs import records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.store import open_store

_SESSION = "s"
# Seconds that an attack's program may take.
_PATIENCE = 600
_IMAGE = 32_000_000


def read_only_disk(ground: Ground) -> Outcome:
    """Guards against an append that is acknowledged after the disk has become read-only while the store is open, and
    against a store that does not continue when the disk is writable again."""
    return _in_namespace("read-only", ground, ground.times(2, 30), ("mount", "umount", "mkfs.ext4", "losetup"))


def no_shared_memory(ground: Ground) -> Outcome:
    """Guards against a store that is refused, and against appends that are lost or doubled, where SQLite can have no
    write-ahead log: two processes are killed, then eight append to one session at once. On a busy machine an
    append may be refused in words after a wait, and is then tried again."""
    return _in_namespace("unshared", ground, ground.times(10, 200), ("umount",))


def _in_namespace(kind: str, ground: Ground, times: int, programs: tuple[str, ...]) -> Outcome:
    """Runs this module as a program where it may mount, and returns the outcome that it prints."""
    missing = [name for name in ("unshare", *programs) if shutil.which(name) is None]
    if missing:
        return Outcome(tried=0, survived=f"skipped: there is no {missing[0]}")
    command = ["unshare", "--mount", sys.executable, "-m", "attacks.disks", kind, str(ground.folder), str(times)]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, env=known, check=False)
    try:
        return msgspec.json.decode(done.stdout, type=Outcome)
    except msgspec.DecodeError:
        why = (done.stderr.decode(errors="replace").splitlines() or [f"status {done.returncode}"])[-1]
        if "mount" in why or "unshare" in why or "/dev/fuse" in why:
            return Outcome(tried=0, survived=f"skipped: {why}"[:100])
        return Outcome(tried=times, survived="", faults=(why,))


def _abort(folder: Path, times: int) -> Outcome:
    """Makes a file system read-only, as the kernel does after a fault of the disk, and mounts it again."""
    image, place = folder / "image", folder / "disk"
    place.mkdir()
    said: list[str] = []
    faults: list[str] = []
    for number in range(times):
        image.unlink(missing_ok=True)
        with image.open("wb") as file:
            file.truncate(_IMAGE)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
        _mount("-o", "loop", str(image), str(place))
        path = place / "sessions.db"
        store = open_store(path)
        store.create(_SESSION, records(SessionCreated()))
        names = [f"before{number}-{index}" for index in range(1 + number % 5)]
        for name in names:
            append_batch(store, _SESSION, name)
        # An append is handed to the kernel. Only what the kernel has written outlives a fault of the disk.
        os.sync()
        _mount("-o", "remount,abort", str(place))
        try:
            append_batch(store, _SESSION, f"broken{number}")
            names.append(f"broken{number}")
            faults.append("nothing was refused")
        except StoreUnavailable:
            pass
        store.close()
        subprocess.run(["umount", str(place)], check=True)
        _mount("-o", "loop", str(image), str(place))
        with open_store(path) as again:
            append_batch(again, _SESSION, "after")
        faults += check(path, [*names, "after"])
        said += [*names, "after"]
        subprocess.run(["umount", str(place)], check=True)
    survived = f"{len(said):,} acknowledged appends, each there once"
    return Outcome(tried=times, survived=survived, faults=tuple(dict.fromkeys(faults)))


def _unshared(folder: Path, times: int) -> Outcome:
    real = folder / "real"
    real.mkdir()
    with mounted(real) as place:
        killed = kill_appenders(place / "killed.db", times, random.Random(times))
        crowded = append_at_once(place / "crowd.db", times)
        left = [file.name for file in place.iterdir() if file.name.endswith(("-wal", "-shm"))]
    faults = (*killed.faults, *crowded.faults, *([f"there is a write-ahead log: {left[0]}"] if left else []))
    survived = f"{killed.survived}; {crowded.survived}"
    return Outcome(tried=killed.tried + crowded.tried, survived=survived, faults=faults)


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"mount: {done.stderr.strip()}")


if __name__ == "__main__":
    attack = {"read-only": _abort, "unshared": _unshared}[sys.argv[1]]
    sys.stdout.buffer.write(msgspec.json.encode(attack(Path(sys.argv[2]), int(sys.argv[3]))))
