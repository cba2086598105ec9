"""Machines that work on one server, which each of them may lose, without threads and in one process."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ullage.model.errors import ConcurrentAppend, StoreUnavailable
from ullage.model.events import Event, Record
from ullage.store.offline.local_copy import LocalCopy, Unsent, open_copy
from ullage.store.offline.offline_store import CopyOptions, OfflineStore, Server, Upkeep
from ullage.store.sqlite.database import connect
from ullage.store.sqlite.sqlite_store import SqliteStore
from ullage.store.table_store import TableStore


class Line:
    """A machine's connection to the server. `is_cut`: nothing goes through. `loses_answer`: the next call arrives, but
    its answer doesn't, and the connection is cut. `calls_left`: so many calls go through, any number if negative."""

    def __init__(self) -> None:
        self.is_cut = False
        self.loses_answer = False
        self.calls_left = -1

    def call(self, method: Callable[..., Any], *args: Any) -> Any:
        if self.is_cut or self.calls_left == 0:
            raise StoreUnavailable("the server can't be reached")
        self.calls_left -= 1
        result = method(*args)
        if self.loses_answer:
            self.loses_answer, self.is_cut = False, True
            raise StoreUnavailable("the server can't be reached")
        return result


class FarStore(SqliteStore):
    """The server's store, over a line."""

    line: Line

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in ("line", "close", "path") or not callable(found):
            return found
        line: Line = super().__getattribute__("line")
        return partial(line.call, found)


class UpkeepNow(Upkeep):
    """Copies at once, and reaches for the server when `reach` is called."""

    def __init__(self, path: Path, try_again: Callable[[LocalCopy], bool], options: CopyOptions, /) -> None:
        super().__init__(path, try_again, options)
        self._reach, self._file = try_again, path

    def use(self, remote: TableStore | None) -> None:
        if self._remote is not None:
            self._remote.close()
        self._remote = remote

    def copy(self, session_id: str) -> None:
        if self._remote is not None and session_id:
            with open_copy(self._file) as local:
                self.copy_now(self._remote, local, session_id, is_used=True)

    def reach(self) -> bool:
        with open_copy(self._file) as local:
            return self._reach(local)


class Machine:
    """A machine with its copy in a folder, of at most `limit` bytes, and the store at the path `server`."""

    def __init__(self, folder: Path, server: Path, limit: int | None = None) -> None:
        self.line = Line()
        self.file = folder / "copy.db"
        self._server, self._limit = server, limit
        self._upkeep: UpkeepNow | None = None
        self.store = self._open()

    def _open(self) -> OfflineStore:
        def upkeep(path: Path, try_again: Callable[[LocalCopy], bool], options: CopyOptions, /) -> Upkeep:
            self._upkeep = UpkeepNow(path, try_again, options)
            return self._upkeep

        server = Server("the server", self._far, lambda _: True)
        remote = None if self.line.is_cut else self._far()
        return OfflineStore(server, self.file, remote, CopyOptions(limit=self._limit), upkeep)

    def _far(self) -> FarStore:
        if self.line.is_cut:
            raise StoreUnavailable("the server can't be reached")
        far = FarStore(self._server, connect(self._server))
        far.line = self.line
        return far

    def add(self, session_id: str, *events: Event) -> int:
        """Appends events to a session, and returns the position of the last one."""
        while True:
            start = len(self.store.read(session_id))
            try:
                self.store.append(
                    session_id,
                    [
                        Record(position=start + at, timestamp=1_000 + start, event=event)
                        for at, event in enumerate(events)
                    ],
                )
            except ConcurrentAppend:
                continue
            return start + len(events) - 1

    def mend(self) -> None:
        """Mends the line, and has the machine catch up if it is without the server."""
        self.line.is_cut = self.line.loses_answer = False
        if self.store.is_away:
            assert self._upkeep is not None
            assert self._upkeep.reach()

    def die_in_catching_up(self, calls: int) -> None:
        """Mends the line, and ends the program after so many calls of the server, if it is without the server. Then
        starts it again."""
        if not self.store.is_away:
            return
        self.line.is_cut, self.line.calls_left = False, calls
        assert self._upkeep is not None
        self._upkeep.reach()
        self.line.calls_left = -1
        self.restart()

    def unsent(self) -> tuple[Unsent, ...]:
        """Returns what the server lacks."""
        with open_copy(self.file) as local:
            return local.unsent()

    def restart(self) -> None:
        """Ends the program on the machine and starts it again."""
        self.store.close()
        self.store = self._open()

    def close(self) -> None:
        self.store.close()
