"""Opens the archive that belongs to a store, and removes all that is kept of a conversation outside the store."""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.discovery import kept_path
from ullage.model.errors import StoreError
from ullage.model.figure import FollowedRow
from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.known_catalogue import SqliteCatalogue
from ullage.store.store_place import StorePlace, local_path
from ullage.system.next_to_store import ForgottenList, JsonLiveFile, ReadingsFolder, live_path


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


# Folders next to the store with files that are called as the agent's session, with a suffix.
_FOLDERS = ("given", "hooks", "statusline")


class SessionTraces:
    """What is kept of an agent's session next to the store at a place (None: the user's).

    That is what hooks gave back and passed on, what the agent said to its status line, how far its file was read, its
    rows of the live file and of the catalogue, and its files in the archive.
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
        ReadingsFolder(self._path).remove(path, agent_session_id)
        with suppress(StoreError):
            SqliteCatalogue(self._path).remove(path, agent_session_id)
        self._rewrite_live_file(agent_session_id, path)
        if agent_session_id and Path(agent_session_id).name == agent_session_id:
            for folder in _FOLDERS:
                _remove(self._path.with_name(f"{self._path.name}.{folder}"), agent_session_id)

    def remove_kept(self, agent_session_id: str, path: str, /) -> None:
        """Removes the files of this conversation from the archive. Blocks. Raises `StoreError`."""
        kept = path and kept_path(path, agent_session_id)
        if kept:
            with open_originals(self._place) as originals:
                if originals and originals.latest(kept):
                    originals.remove([kept])

    def _rewrite_live_file(self, origin_id: str, path: str) -> None:
        """Removes a conversation from the live file, which a process that follows writes again without it."""

        def is_it(row: FollowedRow) -> bool:
            if path:
                return row.path == path and row.agent_session_id in (origin_id, "")
            return row.agent_session_id == origin_id != ""

        live = JsonLiveFile(live_path(self._path))
        shown = live.read()
        left = tuple(row for row in shown.sessions if not is_it(row)) if shown else ()
        if shown and len(left) < len(shown.sessions):
            with suppress(StoreError):
                live.write(replace(shown, sessions=left))


def _remove(folder: Path, name: str) -> None:
    """Removes the files of a folder that are called `name` and a suffix."""
    with suppress(OSError):
        for file in [*folder.iterdir()]:
            # The temporary file of one that is being written has a longer suffix.
            if file.name.startswith(f"{name}."):
                with suppress(OSError):
                    file.unlink()
