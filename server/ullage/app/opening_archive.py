"""Opens the archive that belongs to a store, and removes all that is kept of a conversation outside the store."""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ullage.agents.discovery import kept_path
from ullage.app.running_now import live_path
from ullage.model.errors import StoreError
from ullage.model.figure import FollowedRow, LiveSessions
from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.catalogue_notes import ForgottenList
from ullage.store.sqlite.known_catalogue import FollowedNow, SqliteCatalogue
from ullage.store.store_place import StorePlace, local_path
from ullage.system.next_to_store import replace_file


@contextmanager
def open_originals(store: StorePlace | None) -> Generator[SqliteOriginals | None]:
    """Opens the archive that belongs to a session store (None: the user's) for the block. Yields None if there is no
    archive. Raises `StoreUnavailable` if it can't be used."""
    path = archive_path(local_path(store))
    if not path.exists():
        yield None
        return
    with SqliteOriginals(path) as originals:
        yield originals


class SessionTraces:
    """What is kept of an agent's session next to the store at a place (None: the user's).

    That is what hooks pass on, all that the catalogue has of it, its row of the live file, and its files in the
    archive.
    """

    def __init__(self, place: StorePlace | None) -> None:
        self._place = place
        self._path = local_path(place)

    def __call__(self, agent_session_id: str, path: str, /) -> None:
        """Removes all but what the archive has of the session to which its agent gave this id, in the agent's file at
        `path`. That file is read again when it changes. What can't be removed stays."""
        if path:
            with suppress(StoreError):
                ForgottenList(self._path).add(path, agent_session_id, time.time_ns() // 1_000_000)
        shown = FollowedNow(self._path).read()
        with suppress(StoreError):
            SqliteCatalogue(self._path).remove(path, agent_session_id)
        self._rewrite_live_file(shown, agent_session_id, path)
        if agent_session_id and Path(agent_session_id).name == agent_session_id:
            _remove(self._path.with_name(f"{self._path.name}.hooks"), agent_session_id)

    def remove_kept(self, agent_session_id: str, path: str, /) -> None:
        """Removes the files of this conversation from the archive. Blocks. Raises `StoreError`."""
        kept = path and kept_path(path, agent_session_id)
        if kept:
            with open_originals(self._place) as originals:
                if originals and originals.latest(kept):
                    originals.remove([kept])

    def _rewrite_live_file(self, shown: LiveSessions | None, origin_id: str, path: str) -> None:
        """Removes a conversation from the live file, which a process that follows writes again without it."""

        def is_it(row: FollowedRow) -> bool:
            if path:
                return row.path == path and row.agent_session_id in (origin_id, "")
            return row.agent_session_id == origin_id != ""

        left = tuple(row for row in shown.sessions if not is_it(row)) if shown else ()
        if shown and len(left) < len(shown.sessions):
            with suppress(StoreError):
                replace_file(live_path(self._path), msgspec.json.encode(replace(shown, sessions=left)))


def _remove(folder: Path, name: str) -> None:
    """Removes the files of a folder that are called `name` and a suffix."""
    with suppress(OSError):
        for file in [*folder.iterdir()]:
            # The temporary file of one that is being written has a longer suffix.
            if file.name.startswith(f"{name}."):
                with suppress(OSError):
                    file.unlink()
