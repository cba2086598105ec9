"""Which archive the user's team has, and what opens and searches it."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from ullage.model.errors import InvalidRequest, StoreUnavailable
from ullage.model.store_address import is_address
from ullage.model.words import package_missing
from ullage.service.ports.team import TeamHit
from ullage.store.store_place import local_path
from ullage.system.team_choices import TeamChoices, read_choices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.store.postgres.postgres_store import PostgresStore

_VARIABLE = "ULLAGE_TEAM"


def choices_path() -> Path:
    """Returns the file with what the user of this machine shares, whatever the store."""
    return local_path(None).with_name("team.json")


def archive_of(given: str | None, choices: TeamChoices) -> str:
    """Returns the address of the team's archive: the given one, else that of the environment, else the one that was
    chosen before. Raises `InvalidRequest` if there is none."""
    archive = given or os.environ.get(_VARIABLE) or choices.archive
    if not is_address(archive):
        raise InvalidRequest(
            "which team's archive? Name it: --archive postgresql://HOST/DATABASE, the setting search.teamArchive, or "
            "ULLAGE_TEAM"
        )
    return archive


def open_archive(archive: str, *, is_team: bool = False) -> "PostgresStore":
    """Opens the team's archive, with `is_team` to read what others share. Raises what `open_postgres` does."""
    try:
        from ullage.store.postgres.postgres_store import open_postgres  # noqa: PLC0415  (few have its package)
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a team's archive", "psycopg", "postgres")) from error
    return open_postgres(archive, is_team=is_team)


class TeamSearching:
    """Searches the team's archive, see `SearchesTeam`. It is opened at the first search, in a thread, and stays open.
    `given` returns the address in the settings, "" if there is none."""

    def __init__(self, given: Callable[[], str]) -> None:
        self._given = given
        self._archive = ""
        self._open: PostgresStore | None = None
        # Held in the thread that searches.
        self._lock = Lock()

    async def __call__(self, query: str, limit: int, /) -> Sequence[TeamHit]:
        """Returns what matches; see `SearchesTeam`."""
        return await asyncio.to_thread(self._search, query, limit)

    def close(self) -> None:
        """Closes the archive. The next search opens it again."""
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None

    def _search(self, query: str, limit: int) -> Sequence[TeamHit]:
        archive = archive_of(self._given(), read_choices(choices_path()))
        with self._lock:
            if self._open is not None and archive != self._archive:
                self._open.close()
                self._open = None
            if self._open is None:
                self._open, self._archive = open_archive(archive, is_team=True), archive
            from ullage.store.team.team_archive import find_in_team  # noqa: PLC0415  (needs a package that few have)

            return find_in_team(self._open, query, limit)
