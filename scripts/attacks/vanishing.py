"""Stores whose file vanishes while it is open, is on a file system without locks, or gets times of a wrong clock."""

import sqlite3
from pathlib import Path
from unittest.mock import patch

from attacks.attack import Ground, Outcome
from support.appender import append_batch
from support.logs import message, records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended, SessionCreated
from ullage.store import open_store

_SESSION = "s"
# Milliseconds by which a clock jumps: 300 years.
_JUMP = 300 * 365 * 24 * 3_600_000


def gone_store(ground: Ground) -> Outcome:
    """Guards against appends that are acknowledged after the store's file was deleted, moved or replaced."""
    faults: list[str] = []
    times = ground.times(15, 300)
    for number in range(times):
        folder = ground.folder / f"gone{number}"
        change = ground.chance.choice(("deleted", "moved", "replaced"))
        with open_store(folder / "sessions.db") as store:
            store.create(_SESSION, records(SessionCreated()))
            for batch in range(ground.chance.randrange(4)):
                append_batch(store, _SESSION, f"m{batch}")
            _take_away(folder, change)
            try:
                append_batch(store, _SESSION, "late")
            except StoreUnavailable:
                continue
            faults.append(f"an append was acknowledged after the file was {change}")
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
    for file in [*folder.iterdir()]:
        if change == "deleted":
            file.unlink()
        else:
            file.rename(file.with_name(f"moved-{file.name}"))
    if change == "replaced":
        open_store(folder / "sessions.db").close()
