"""The team's archive: which one the user has chosen, reading it, and sending it the sessions of shared folders, for a
command and in a server by itself.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from msgspec.structs import replace

from ullage.host.side_files import TEAM_SENDER, TEAM_SENT, data_folder
from ullage.model.errors import Conflict, InvalidRequest, StoreUnavailable, UllageError
from ullage.model.store_address import is_address
from ullage.model.words import package_missing
from ullage.service.conversation.work import repeated
from ullage.service.ports.store import ALL_SESSIONS, SessionStore, TeamHit, TeamOpenResult, digest_of
from ullage.store.store_place import StorePlace, is_there, local_path, open_to_read_at
from ullage.store.team.team_archive import SentFolder, Sharing, Tell, find_in_team, open_in_team, send_folder
from ullage.system.shared_files import FileLease
from ullage.system.team_choices import (
    Sent,
    SharedFolder,
    TeamChoices,
    all_patterns,
    archive_of,
    choices_path,
    kept_private,
    private_path,
    read_choices,
    read_sent,
    write_sent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.store.postgres.postgres_store import PostgresStore

T = TypeVar("T")


def open_archive(archive: str, *, is_team: bool = False) -> "PostgresStore":
    """Opens the team's archive, with `is_team` to read what others share. Raises what `open_postgres` does."""
    try:
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415  (few have its package)
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a team's archive", "psycopg", "postgres")) from error
    return open_postgres(archive, is_team=is_team)


class TeamReading:
    """Reads the team's archive. It is opened at the first search, in a thread, and stays open. `given`
    returns the address in the settings, "" if there is none."""

    def __init__(self, given: Callable[[], str]) -> None:
        self._given = given
        self._archive = ""
        self._open: PostgresStore | None = None
        # Held in the thread that reads.
        self._lock = Lock()

    async def search(self, query: str, limit: int) -> Sequence[TeamHit]:
        return await asyncio.to_thread(self._read, lambda team: find_in_team(team, query, limit))

    async def open(self, session_id: str, start: int, stop: int) -> Sequence[TeamOpenResult]:
        return await asyncio.to_thread(self._read, lambda team: open_in_team(team, session_id, start, stop))

    def close(self) -> None:
        """Closes the archive. The next search opens it again."""
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None

    def _read(self, read: "Callable[[PostgresStore], T]") -> T:
        archive = archive_of(self._given(), read_choices(choices_path()))
        with self._lock:
            if self._open is not None and archive != self._archive:
                self._open.close()
                self._open = None
            if self._open is None:
                self._open, self._archive = open_archive(archive, is_team=True), archive
            return read(self._open)


log = logging.getLogger(__name__)
# Seconds until a server first looks: an editor that starts has other work first.
_FIRST = 20.0
# Seconds between two looks. What a colleague searches for is seldom a minute old, and a look lists all sessions.
_EVERY = 60.0
# Seconds until the next try after the archive could not be used.
_AFTER_FAILURE = 300.0
# Seconds for which a command waits for another process that sends, and between two tries.
_PATIENCE, _TRY_EVERY = 60.0, 0.2


def sent_path() -> Path:
    """Returns the folder with what was sent of each shared folder."""
    return data_folder() / TEAM_SENT


def store_name(place: StorePlace | None) -> str:
    """Returns what `SharedFolder.store` calls the store at a place: its address, or its file."""
    return place if isinstance(place, str) and is_address(place) else str(local_path(place).absolute())


@contextmanager
def sending_alone(patience: float = _PATIENCE) -> Generator[None]:
    """Has the block send alone of all processes of this machine. Raises `Conflict` if another one sends for long."""
    path = data_folder() / TEAM_SENDER
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lease = FileLease(path)
    until = time.monotonic() + patience
    while not lease.take():
        if time.monotonic() >= until:
            raise Conflict("another process sends to the team's archive now: try again later")
        time.sleep(_TRY_EVERY)
    try:
        yield
    finally:
        lease.give_up()


@contextmanager
def open_source(place: StorePlace | None) -> Generator[SessionStore]:
    """Opens the store whose sessions are sent, for reading; never this machine's copy of a store on a server, which may
    lack sessions. What is missing in the store is removed from the archive, so a missing store is no empty one. Raises
    `StoreUnavailable`."""
    if not is_there(place):
        remedy = "`ullage search WORDS` reads agents' conversations into it"
        raise StoreUnavailable(f"the store {local_path(place)} is not there, so nothing is sent: {remedy}")
    with open_to_read_at(place) as store:
        yield store


def send_chosen(
    choices: TeamChoices, folder: str, source: SessionStore, tell: Tell, *, by_itself: bool = False
) -> SentFolder:
    """Sends what is new of a shared folder's sessions, and notes how far that went. Raises `StoreUnavailable`,
    `Conflict`, and `InvalidRequest` if it isn't known what editors call private."""
    chosen = choices.folders[folder]
    sharing = Sharing(folder=folder, members=chosen.members, patterns=_patterns(chosen, source))
    before = read_sent(sent_path(), folder)
    fits = before is not None and (before.archive, before.rules) == (choices.archive, sharing.rules)
    with open_archive(choices.archive) as team:
        done = send_folder(source, team, sharing, tell, before.marks if before is not None and fits else {})
    now = Sent(archive=choices.archive, at=_now(), rules=sharing.rules, marks=done.marks, by_itself=by_itself)
    write_sent(sent_path(), folder, now)
    return done


def _patterns(chosen: SharedFolder, source: SessionStore) -> tuple[str, ...]:
    """Returns the patterns of private text: the folder's, those that sessions have of their own, and those of editors'
    settings. One too many hides no more than a word."""
    own = (pattern for settings in source.own_settings() for pattern in settings.get("privatePatterns", ()))
    return tuple(dict.fromkeys((*chosen.private, *own, *all_patterns(kept_private(private_path())))))


class TeamSender:
    """Sends what is new of the folders that were shared from a store, while a server runs: in a thread, one process of
    the machine at a time. Does nothing until a folder is shared, and nothing for folders that are sent by hand."""

    def __init__(self, place: StorePlace | None, first: float = _FIRST, every: float = _EVERY) -> None:
        self._place, self._first, self._every = place, first, every
        # What the store was like when all was sent.
        self._seen: Mapping[str, str] = {}

    def running(self) -> AbstractContextManager[None]:
        """Sends, on the running event loop, while the block runs."""
        return repeated(self._step, self._first)

    async def _step(self) -> float:
        is_fine = await asyncio.to_thread(self.send)
        return self._every if is_fine else max(self._every, _AFTER_FAILURE)

    def send(self) -> bool:
        """Sends what is new. Returns False if something could not be sent; the file about the folder says why."""
        try:
            if not self._own(read_choices(choices_path())):
                return True
            with sending_alone(0), open_source(self._place) as source:
                # A folder may have been unshared before the lease was taken.
                choices = read_choices(choices_path())
                return all([self._send(choices, folder, source) for folder in self._own(choices)])
        except Conflict:
            # Another process does it.
            return True
        except (UllageError, OSError) as error:
            log.warning("Nothing was sent to the team's archive: %s", error)
            return False

    def _own(self, choices: TeamChoices) -> list[str]:
        name = store_name(self._place)
        return [folder for folder, chosen in choices.folders.items() if not chosen.by_hand and chosen.store == name]

    def _send(self, choices: TeamChoices, folder: str, source: SessionStore) -> bool:
        sight = _sight(choices, folder, source)
        if self._seen.get(folder) == sight:
            return True
        try:
            send_chosen(choices, folder, source, lambda _, __: None, by_itself=True)
        except (UllageError, OSError) as error:
            log.warning("%s was not sent to the team's archive: %s", folder, error)
            before = read_sent(sent_path(), folder)
            failed = before or Sent(archive=choices.archive, at=0, rules="", marks={})
            write_sent(sent_path(), folder, replace(failed, error=str(error), by_itself=True))
            return False
        self._seen = {**self._seen, folder: sight}
        return True


def _sight(choices: TeamChoices, folder: str, source: SessionStore) -> str:
    """Returns what changes when there may be something to send. Asks no server but the store's."""
    infos = [info for info in source.list(limit=ALL_SESSIONS) if info.cwd]
    try:
        patterns = _patterns(choices.folders[folder], source)
    except InvalidRequest as error:
        patterns = (str(error),)
    return digest_of(repr((choices.archive, choices.folders[folder], patterns, infos)))


def _now() -> int:
    return time.time_ns() // 1_000_000
