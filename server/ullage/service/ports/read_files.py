"""Port to the list of files that were read whole: what a follower that starts again need not read."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class ReadFile(Struct, frozen=True, kw_only=True):
    """A file whose session has all that was read of it, as it was then.

    `path` and `origin_id` are those of the `FoundFile`. `stat` is what the operating system said of it before it was
    read, and `ends` a digest of its first and its last bytes. `messages` counts those of the session.
    """

    path: str
    origin_id: str
    session_id: str
    messages: int
    stat: tuple[int, ...]
    ends: bytes


class ReadFiles(Protocol):
    """The list of the files that were read whole into one store. Only the process that follows writes it."""

    def read(self) -> Sequence[ReadFile]:
        """Returns the list; an empty one if it is missing, damaged, or of another version of Ullage, which might read
        the files differently."""
        ...

    def write(self, files: Sequence[ReadFile]) -> None:
        """Replaces the list at once as a whole. Raises `StoreError` if that fails; the old list is then kept."""
        ...
