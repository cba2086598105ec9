"""What runs on this machine now: agents with their conversations, and the process that follows these."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ullage.agents.table import AGENTS
from ullage.host import this_system
from ullage.host.side_files import LIVE, beside
from ullage.model.usage import FollowedRow, LiveSessions
from ullage.store.sqlite.catalogue import FollowedNow
from ullage.store.store_place import StorePlace, local_path
from ullage.system.shared_files import replace_file
from ullage.watch.candidates import find_processes, this_machine


class LiveRowsShown:
    """Where the process that follows into the store at `store` shows what it follows (`LiveFile`): in the catalogue,
    and in the live file next to the store, a copy for editors and for programs that start once for each figure.
    `on_desktop` says whether that process tells the user what is due by notifications of the operating system."""

    def __init__(self, store: Path, on_desktop: Callable[[], bool] = lambda: False) -> None:
        self._on_desktop = on_desktop
        self._catalogue = FollowedNow(store)
        self._path = beside(store, LIVE)

    def write(self, sessions: LiveSessions) -> None:
        """Replaces what is shown, in the file at once as a whole. Raises `StoreUnavailable`."""
        try:
            self._catalogue.write(sessions)
        finally:
            replace_file(self._path, msgspec.json.encode(replace(sessions, desktop=self._on_desktop())))

    def read(self) -> LiveSessions | None:
        """Returns what is shown, or None if it has not changed since the last call, or can't be read."""
        return self._catalogue.read()

    def close(self) -> None:
        """Closes what `read` keeps open."""
        self._catalogue.close()


def running_agents() -> Mapping[tuple[str, str], int | None]:
    """Returns the agents' processes on this machine that say which conversations they have (`FindProcesses`)."""
    return find_processes(this_machine(), AGENTS)


def followed_now(place: StorePlace | None) -> Sequence[FollowedRow]:
    """Returns the conversations that a process follows now into a store (None: the user's), the last changed first.
    Returns an empty list if no process follows."""
    live = live_now(place)
    return live.sessions if live else ()


class FollowedRows:
    """The rows that a process follows now, of the store at `place` (None: the user's). A look costs microseconds."""

    def __init__(self, place: StorePlace | None) -> None:
        self._now = FollowedNow(local_path(place))
        self._follower = 0
        self._rows: dict[str, FollowedRow] = {}

    def __call__(self, session_id: str) -> FollowedRow | None:
        if said := self._now.read():
            self._follower, self._rows = said.follower, {row.session_id: row for row in said.sessions}
        row = self._rows.get(session_id)
        return row if row and this_system.runs(self._follower) else None

    def close(self) -> None:
        """Closes what is kept open to notice changes."""
        self._now.close()


def live_now(place: StorePlace | None) -> LiveSessions | None:
    """Returns what a process that follows now shows; None if no process follows into the store at `place`."""
    live = FollowedNow(local_path(place)).read()
    return live if live and this_system.runs(live.follower) else None
