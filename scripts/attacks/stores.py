"""Stores with random damage, stores whose file vanishes while it is open or has no locks, and clocks that jump."""

import shutil
import sqlite3
from pathlib import Path
from unittest.mock import patch

from attacks.attack import Ground, Outcome, last_line, python
from support.appender import append_batch
from support.logs import message, records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended, SessionCreated
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
_SESSION = "s"
# Milliseconds by which a clock jumps: 300 years.
_JUMP = 300 * 365 * 24 * 3_600_000


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


def gone_store(ground: Ground) -> Outcome:
    """Guards against appends that are acknowledged after the store's file, its write-ahead log or the log's index was
    deleted, moved or replaced, as tools do that keep folders in step."""
    faults: list[str] = []
    times = ground.times(15, 300)
    for number in range(times):
        folder = ground.folder / f"gone{number}"
        change = ground.chance.choice(("deleted", "moved", "replaced", "-wal", "-shm", "-wal -shm"))
        with open_store(folder / "sessions.db") as store:
            store.create(_SESSION, records(SessionCreated()))
            for batch in range(ground.chance.randrange(4)):
                append_batch(store, _SESSION, f"m{batch}")
            _take_away(folder, change)
            try:
                append_batch(store, _SESSION, "late")
            except StoreUnavailable:
                continue
            faults.append(f"an append was acknowledged after this was done: {change}")
    return Outcome(tried=times, survived=f"{times - len(faults)} refused in words", faults=tuple(faults))


def no_locks(ground: Ground) -> Outcome:
    """Guards against a store on a file system without locks, where several processes would damage it unnoticed."""
    opened = sqlite3.connect

    def without_locks(path: Path, timeout: float, check_same_thread: bool, isolation_level: None) -> sqlite3.Connection:
        address = f"file:{path}?vfs=unix-none"
        return opened(
            address, uri=True, timeout=timeout, check_same_thread=check_same_thread, isolation_level=isolation_level
        )

    faults: list[str] = []
    with patch.object(sqlite3, "connect", without_locks):
        try:
            open_store(ground.folder / "sessions.db").close()
            faults.append("it was opened")
        except StoreUnavailable as error:
            if "no locks" not in str(error):
                faults.append(f"it was refused for another reason: {error}")
    return Outcome(tried=1, survived="" if faults else "refused in words", faults=tuple(faults))


def clock_jumps(ground: Ground) -> Outcome:
    """Guards against an order of messages that follows the clock: each message's time is up to 300 years off."""
    times = ground.times(200, 5_000)
    with open_store(ground.folder / "sessions.db") as store:
        store.create(_SESSION, records(SessionCreated()))
        for number in range(times):
            at = max(0, 1_700_000_000_000 + ground.chance.randrange(-_JUMP, _JUMP))
            store.append(_SESSION, records(message(f"m{number}"), start=number + 1, timestamp=at))
        log = store.read(_SESSION)
    ids = [record.event.message.id for record in log if isinstance(record.event, MessageAppended)]
    faults = [] if ids == [f"m{number}" for number in range(times)] else ["the messages have another order"]
    return Outcome(tried=times, survived=f"{len(ids):,} messages in their order", faults=tuple(faults))


def _take_away(folder: Path, change: str) -> None:
    if change.startswith("-"):
        for end in change.split():
            (folder / f"sessions.db{end}").unlink()
        return
    for file in [*folder.iterdir()]:
        if change == "deleted":
            file.unlink()
        else:
            file.rename(file.with_name(f"moved-{file.name}"))
    if change == "replaced":
        open_store(folder / "sessions.db").close()
