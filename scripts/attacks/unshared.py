"""A file system without shared memory, where a store has a rollback journal in place of a write-ahead log.

The part that mounts runs as a program of its own, `python -m attacks.unshared kills FOLDER TIMES`, and prints its
outcome as JSON. It needs Linux, `unshare` and the right to mount.
"""

import random
import sys
from pathlib import Path

import msgspec

from attacks.appending import append_at_once, kill_appenders
from attacks.attack import Ground, Outcome
from attacks.disks import in_namespace
from support.fuse_folder import mounted


def no_shared_memory(ground: Ground) -> Outcome:
    """Guards against a store that is refused, and against appends that are lost or doubled, where SQLite can have no
    write-ahead log: two processes are killed, then eight append to one session at once. On a busy machine an
    append may be refused in words after a wait, and is then tried again."""
    return in_namespace("unshared kills", ground, ground.times(10, 200), ("umount",))


def _attack(folder: Path, times: int) -> Outcome:
    real = folder / "real"
    real.mkdir()
    with mounted(real) as place:
        killed = kill_appenders(place / "killed.db", times, random.Random(times))
        crowded = append_at_once(place / "crowd.db", times, is_patient=True)
        left = [file.name for file in place.iterdir() if file.name.endswith(("-wal", "-shm"))]
    faults = (*killed.faults, *crowded.faults, *([f"there is a write-ahead log: {left[0]}"] if left else []))
    survived = f"{killed.survived}; {crowded.survived}"
    return Outcome(tried=killed.tried + crowded.tried, survived=survived, faults=faults)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_attack(Path(sys.argv[2]), int(sys.argv[3]))))
