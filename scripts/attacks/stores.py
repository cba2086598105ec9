"""Stores with random damage."""

import shutil
from pathlib import Path

from attacks.attack import Ground, Outcome, last_line, python
from support.appender import append_batch
from support.logs import records
from ullage.model.events import SessionCreated
from ullage.store import open_store

_SESSIONS = 12
# Reads and searches everything. Prints `read` with the number of messages, or `told` with the error's class.
READER = """
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
        child = python(READER, str(path))
        told += child.stdout.startswith("told")
        read += child.stdout.startswith("read")
        if not child.stdout.startswith(("told", "read")):
            faults.append(f"damage {number}: {last_line(child)}")
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
