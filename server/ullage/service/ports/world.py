"""Ports to the world around: time, names, programs, files, listeners."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from ullage.model.updates import Update


class Clock(Protocol):
    """The time."""

    def now(self) -> int:
        """Unix milliseconds."""
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
    """New identifiers."""

    def new(self, prefix: str) -> str:
        """A name never given before, starting with `prefix`."""
        ...


class Indexing(Struct, frozen=True, kw_only=True):
    """How far a search is with indexing: `left` of `total` records, 0 at its end; `cancel` gives the search up."""

    id: str
    left: int
    total: int
    cancel: Callable[[], object]


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """How a program ended: its exit status and the beginning of what it wrote, or the `fault` for which it has none."""

    status: int = 0
    out: str = ""
    err: str = ""
    fault: str = ""


class CommandRunner(Protocol):
    """Runs a person's own programs."""

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        """Runs a program, `given` on its standard input, for at most `timeout` seconds. Never raises for what the
        program does; when this returns or is cancelled, the program has ended."""
        ...


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file by its path within the project's folder; without `text` it was not read."""

    path: str
    text: str = ""


class ProjectFiles(Protocol):
    """The files of projects on disk."""

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        """Those of `names` that are plain files within `folder`, in order, with up to `most` characters of each if the
        folder lies in one of the `trusted` ones. Blocks while the disk does; never raises."""
        ...


class Listener(Protocol):
    """Whoever wants to know what happens in sessions: a door, a demo, a test."""

    def session_updated(self, session_id: str, update: Update) -> None:
        """Called in order, on the event loop; must not block."""
        ...


class IndexingListener(Protocol):
    """Whoever shows how a first search gets on."""

    def indexing(self, progress: Indexing) -> None:
        """Called on the event loop while a search takes long over its index; must not block."""
        ...
