"""Port to the catalogue: every conversation of an agent that is known on this machine, one row for each."""

from collections.abc import Collection, Mapping
from typing import Protocol

from ullage.model.followed import FollowedRow


class KnownConversation(FollowedRow, frozen=True, kw_only=True):
    """A conversation in an agent's file, as it was when its end was last read. It is not live, and has no session:
    whether an agent runs, and what was imported, is asked each time.

    - `place`: what names it: the path of its file, or, in a database, the path that `kept_path` makes.
    - `run`: its number in a file that holds several, counted from 1. `format`: the name of the file's format.
    - `stat`: differs whenever the file, or the row of a database, has changed.
    - `basis`: differs whenever what the figure rests on besides the file has changed: Ullage, the agent's settings,
      what it said to its status line, compactions of its other conversations.
    - `is_side`: whether it is a sub-agent's. `is_whole`: whether all of the file was read, and not only its ends.
      `is_sure`: whether a reading of the whole file would give the same. If not, what follows the last report is
      estimated by its length, or an earlier part of the file may say more of the window and the threshold.
    - `reason`: why it has no figure, in words; "" if it has one, or if its file holds none.
    """

    session_id: str = ""
    place: str
    format: str
    stat: tuple[int, int, int]
    basis: bytes = b""
    run: int | None = None
    is_side: bool = False
    is_whole: bool = False
    is_sure: bool = False
    reason: str = ""


class Catalogue(Protocol):
    """The catalogue next to one store."""

    def read(self) -> Mapping[str, KnownConversation]:
        """Returns all conversations by their `place`; none if the catalogue is missing, damaged or of another version
        of Ullage, which might read the files differently."""
        ...

    def write(self, changed: Collection[KnownConversation], gone: Collection[str]) -> None:
        """Adds or replaces conversations, and removes those at the places `gone`. Raises `StoreError`."""
        ...
