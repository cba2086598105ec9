"""The checks of `ullage doctor` for the session store, in a file or in PostgreSQL, and for what a team gets of it."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ullage.app.team_sending import sent_path
from ullage.cli.draw.text import ago, plural
from ullage.cli.provider_health import Check
from ullage.model.errors import InvalidRequest, StoreUnavailable
from ullage.model.store_address import is_address
from ullage.model.words import package_missing
from ullage.store.sqlite.database import connect
from ullage.store.sqlite.journal import has_log
from ullage.store.sqlite.migrations import VERSION
from ullage.store.sqlite.sqlite_errors import reporting
from ullage.store.store_place import StorePlace, local_path, offline_path
from ullage.system.team_choices import choices_path, read_choices
from ullage.system.team_sent import read_sent

# More sessions than any store has.
_ALL = 1 << 40
_NO_LOG = "its file system has no shared memory for a write-ahead log, so what is read waits for what is written"


def store_check(place: StorePlace | None) -> Check:
    """Returns what the store at a place is like, None for the user's own file. Changes nothing. Raises `UllageError`,
    `OSError` or `ValueError` if it can't be used."""
    if isinstance(place, str) and is_address(place):
        return _server(place)
    return _file(local_path(place))


def _file(path: Path) -> Check:
    if not path.exists():
        return Check(what="store", found=f"{path}: not there yet, made when it is first needed", absent=True)
    with reporting(path), closing(connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (sessions,) = connection.execute("SELECT count(*) FROM sessions WHERE NOT deleted").fetchone()
        journal = "" if has_log(connection) else f"; {_NO_LOG}"
    held = _held(sessions, path.stat().st_size)
    return Check(what="store", found=f"{path}: {held}, schema version {version} of {VERSION}{journal}")


def _server(address: str) -> Check:
    try:
        from ullage.store.postgres.server_errors import is_away  # noqa: PLC0415  (few have its package)
        from ullage.store.postgres.server_facts import read_facts  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a store in PostgreSQL", "psycopg", "postgres")) from error
    copy = _copied(offline_path(address))
    try:
        facts = read_facts(address)
    except StoreUnavailable as error:
        if not is_away(error) or not copy:
            raise
        return Check(what="store", found=f"{error}; {copy}", remedy="what is added is sent when the server is back")
    held = "no tables yet, made when first needed"
    if facts.tables:
        held = f"{_held(facts.sessions, facts.size)}, schema version {facts.tables} of {facts.known}"
    remedy = ""
    if facts.tables > facts.known:
        remedy = "update Ullage, which is older than the one that wrote the tables"
    elif facts.loses:
        remedy = f"turn {' and '.join(facts.loses)} on, or the server may lose messages when it ends at once"
    return Check(
        what="store",
        found="; ".join(
            filter(None, (f"{facts.server}: reached, version {facts.version}, {facts.security}", held, copy))
        ),
        remedy=remedy,
    )


def _copied(path: Path) -> str:
    """Returns what the copy on this machine has of a store on a server, empty if there is none."""
    if not path.exists():
        return ""
    # Imported on use: few have one.
    from ullage.store.offline.local_copy import open_copy  # noqa: PLC0415

    with open_copy(path) as local:
        sessions, unsent = len(local.find_ids("", _ALL)), len(local.unsent())
    waiting = f", {unsent:,} with something to send" if unsent else ""
    return f"the copy on this machine: {_held(sessions, path.stat().st_size)}{waiting}"


def _held(sessions: int, size: int) -> str:
    return f"{plural(sessions, 'session')}, {size / 1_000_000:.1f} MB"


def team_checks() -> Iterator[Check]:
    """Yields a check for each folder that is shared, none if nothing is."""
    try:
        choices = read_choices(choices_path())
    except InvalidRequest as error:
        yield Check(what="team", found=str(error), remedy="see above")
        return
    for folder, chosen in choices.folders.items():
        known = read_sent(sent_path(), folder)
        shared = f"{folder} is shared with {', '.join(chosen.members)}"
        if known is None or not known.at:
            last = "nothing was sent yet"
        else:
            last = f"{plural(len(known.marks), 'session')} sent, last {ago(known.at, time.time_ns() // 1_000_000)}"
        how = "by hand" if chosen.by_hand else "by Ullage's servers"
        error = f"; the last try failed: {known.error}" if known and known.error else ""
        remedy = "run `ullage team send`, which says what is wrong" if error else ""
        yield Check(what="team", found=f"{shared}: {last}, {how}{error}", remedy=remedy)
