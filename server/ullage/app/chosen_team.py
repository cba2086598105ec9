"""Which archive the user's team has, and what opens and reads it."""

import asyncio
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from ullage.model.errors import StoreUnavailable
from ullage.model.words import package_missing
from ullage.service.ports.team import TeamHit, TeamMessage
from ullage.system.team_choices import archive_of, choices_path, read_choices

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
    """Reads the team's archive, see `ReadsTeam`. It is opened at the first search, in a thread, and stays open. `given`
    returns the address in the settings, "" if there is none."""

    def __init__(self, given: Callable[[], str]) -> None:
        self._given = given
        self._archive = ""
        self._open: PostgresStore | None = None
        # Held in the thread that reads.
        self._lock = Lock()

    async def search(self, query: str, limit: int) -> Sequence[TeamHit]:

        def read(team: "PostgresStore") -> Sequence[TeamHit]:
            from ullage.store.team.team_archive import find_in_team  # noqa: PLC0415  (needs a package that few have)

            return find_in_team(team, query, limit)

        return await asyncio.to_thread(self._read, read)

    async def open(self, session_id: str, start: int, stop: int) -> Sequence[TeamMessage]:

        def read(team: "PostgresStore") -> Sequence[TeamMessage]:
            from ullage.store.team.team_archive import open_in_team  # noqa: PLC0415  (needs a package that few have)

            return open_in_team(team, session_id, start, stop)

        return await asyncio.to_thread(self._read, read)

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
