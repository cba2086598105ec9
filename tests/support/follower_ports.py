"""The ports of a follower in a test: real files, next to a store in a folder of the test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ullage.app.catalogue import LiveRowsShown
from ullage.service.ports.agent_files import AgentPorts, Changes, FindChanged
from ullage.store.sqlite.catalogue import SqliteReadFiles, SqliteReadings
from ullage.system.growing_files import GrowingFiles
from ullage.system.shared_files import FileLease


class WatchesNothing:
    """Tells nothing: all files are looked at."""

    is_complete = False

    def begin(self, _: Callable[[], object], /) -> None:
        pass

    def arrange(self) -> None:
        pass

    def changes(self) -> Changes:
        return Changes()

    def covers(self, _: Path, /) -> bool:
        return False

    def tells_end_of(self, _: int, /) -> bool:
        return False

    def distrust(self) -> None:
        pass

    def end(self) -> None:
        pass


def follower_ports(folder: Path, find: FindChanged, **others: Any) -> AgentPorts:
    """Returns the ports of a follower of the files that `find` finds. `others` replace single ones. No process says
    that it has a conversation."""
    store = folder / "store.db"
    live = LiveRowsShown(store)
    ports = AgentPorts(
        files=GrowingFiles(),
        find=find,
        lease=FileLease(folder / "lease"),
        processes=dict,
        compactions=dict,
        live=live,
        read=SqliteReadFiles(store),
        readings=SqliteReadings(store),
        process_id=1,
        close=live.close,
        watching=WatchesNothing(),
    )
    return replace(ports, **others)
