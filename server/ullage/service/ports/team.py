"""Port of a team's archive: what its members share of their sessions."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

from msgspec import Struct

from ullage.service.ports.store import Passage

# What the id of a copy in a team's archive begins with. No session of this machine has such an id.
COPY_PREFIX = "t_"


class TeamHit(Struct, frozen=True, kw_only=True):
    """A passage in a team's archive: the role of the database whose it is, and the folder and the title of its
    session."""

    owner: str
    folder: str
    title: str
    passage: Passage


class TeamMessage(Struct, frozen=True, kw_only=True):
    """A whole message in a team's archive: the role of the database whose it is, the folder and the title of its
    session, which copy of a session it is in, its index there, and the number of the copy's messages."""

    owner: str
    folder: str
    title: str
    session_id: str
    index: int
    role: str
    text: str
    messages: int


class ReadsTeam(Protocol):
    """Reads the team's archive that the user has chosen. Raises `InvalidRequest` if none was chosen, and
    `StoreUnavailable` if it can't be used."""

    async def search(self, query: str, limit: int) -> Sequence[TeamHit]:
        """Returns the passages that match, the best first. Raises `InvalidRequest` if the query has no word."""
        ...

    async def open(self, session_id: str, start: int, stop: int) -> Sequence[TeamMessage]:
        """Returns the messages with `start <= index < stop` of a copy that is shared with the user; see
        `open_in_team`. Raises `SessionNotFound` and `MessageNotFound`."""
        ...


class SentMark(Struct, frozen=True, kw_only=True):
    """How far a session is sent: the position of the last record that was read, a digest of that record, the number of
    records of the copy, and a digest of what the copy begins with (title, folder and model)."""

    position: int
    last: str
    records: int
    head: str


def digest_of(*texts: str) -> str:
    """Returns 24 hexadecimal digits that name texts: folders, copies, what was sent."""
    return blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
