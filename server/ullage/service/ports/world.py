"""Ports to the machine and to listeners: time, ids, programs, files, updates."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from ullage.model.updates import Update


class Clock(Protocol):
    """Gives the time."""

    def now(self) -> int:
        """Returns the present time in Unix milliseconds."""
        ...

    async def wait(self, seconds: float) -> None:
        """Returns when so many seconds have passed."""
        ...


class Chance(Protocol):
    """Random numbers."""

    def share(self) -> float:
        """A number from 0 to 1, 1 excluded."""
        ...


class Ids(Protocol):
    """Makes ids."""

    def new(self, prefix: str) -> str:
        """Returns an id that was never given before and begins with `prefix`."""
        ...


class Indexing(Struct, frozen=True, kw_only=True):
    """The progress of indexing during a search: `left` of `total` records are not indexed yet, 0 at the end.
    `cancel` cancels the search."""

    id: str
    left: int
    total: int
    cancel: Callable[[], object]


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """The result of a program: its exit status and the beginning of its output and error output. `fault` says why
    the program has no exit status; it is empty if the program ended by itself."""

    status: int = 0
    out: str = ""
    err: str = ""
    fault: str = ""


class CommandRunner(Protocol):
    """Runs the user's own programs."""

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        """Runs a program with `given` on its standard input, for at most `timeout` seconds. Never raises because of
        the program. When this method returns or is cancelled, the program has ended."""
        ...


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file of a project. `path` is relative to the project's folder. `text` is empty if the file was not read."""

    path: str
    text: str = ""


class ProjectFiles(Protocol):
    """The files of projects on disk."""

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        """Returns those of `names` that are plain files in `folder`, in the given order. If the folder lies in one
        of the `trusted` folders, up to `most` characters of each file are read. Blocks on the disk; never raises."""
        ...


class Listener(Protocol):
    """Gets the updates of sessions, for example a door, the demo or a test."""

    def session_updated(self, session_id: str, update: Update) -> None:
        """Takes an update. Called on the event loop, in order; must not block."""
        ...


class IndexingListener(Protocol):
    """Shows the progress of indexing during a search."""

    def indexing(self, progress: Indexing) -> None:
        """Takes the progress of an index that takes long. Called on the event loop; must not block."""
        ...
