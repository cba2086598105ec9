"""Port of a team's archive: what its members share of their sessions."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ullage.service.ports.store import Passage


class TeamHit(Struct, frozen=True, kw_only=True):
    """A passage in a team's archive: the role of the database whose it is, and the folder and the title of its
    session."""

    owner: str
    folder: str
    title: str
    passage: Passage


class SearchesTeam(Protocol):
    """Searches the team's archive that the user has chosen."""

    async def __call__(self, query: str, limit: int, /) -> Sequence[TeamHit]:
        """Returns the passages that match, the best first. Raises `InvalidRequest` if no archive was chosen or the
        query has no word, and `StoreUnavailable` if the archive can't be used."""
        ...


class SentMark(Struct, frozen=True, kw_only=True):
    """How far a session is sent: the position of the last record that was read, a digest of that record, the number of
    records of the copy, and a digest of what the copy begins with (title, folder and model)."""

    position: int
    last: str
    records: int
    head: str
