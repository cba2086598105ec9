"""What runs on this machine now: agents with their conversations, and the process that follows these."""

from collections.abc import Mapping, Sequence

from ullage.agents.table import AGENTS
from ullage.model.figure import FollowedRow, LiveSessions
from ullage.store.store_place import StorePlace, local_path
from ullage.system.next_to_store import JsonLiveFile, live_path
from ullage.watch.finder import this_machine
from ullage.watch.processes import find_processes, is_running


def running_agents() -> Mapping[tuple[str, str], int | None]:
    """Returns the agents' processes on this machine that say which conversations they have (`FindProcesses`)."""
    return find_processes(this_machine(), AGENTS)


def followed_now(place: StorePlace | None) -> Sequence[FollowedRow]:
    """Returns the conversations that a process follows now into a store (None: the user's), the last changed first.
    Returns an empty list if no process follows."""
    live = live_now(place)
    return live.sessions if live else ()


def live_now(place: StorePlace | None) -> LiveSessions | None:
    """Returns what a process that follows now shows; None if no process follows into the store at `place`."""
    live = JsonLiveFile(live_path(local_path(place))).read()
    return live if live and is_running(live.follower) else None
