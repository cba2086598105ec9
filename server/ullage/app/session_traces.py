"""Removes what is kept next to a store of an agent's conversation: what hooks gave back and passed on, what the agent
said to its status line, how far its file was read, its rows of the live file and of the catalogue, and its files in the
archive."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from ullage.agents.discovery import kept_path
from ullage.app.opening_archive import open_originals
from ullage.model.errors import StoreError
from ullage.store.sqlite.known_catalogue import SqliteCatalogue
from ullage.store.store_place import StorePlace, local_path
from ullage.system.forgotten import ForgottenList
from ullage.system.kept_readings import ReadingsFolder
from ullage.system.live_file import JsonLiveFile, live_path
from ullage.system.read_list import JsonReadList

T = TypeVar("T")
# Folders next to the store with files that are called as the agent's session, with a suffix.
_FOLDERS = ("given", "hooks", "statusline")


class SessionTraces:
    """What is next to the store at a place; None is the user's."""

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
        self._rewrite_lists(agent_session_id, path)
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

    def _rewrite_lists(self, origin_id: str, path: str) -> None:
        """Removes a conversation from the live file and from the list of files that were read, which a process that
        follows writes again without it."""

        def is_it(path_there: str, origin_there: str) -> bool:
            return path_there == path and origin_there in (origin_id, "") if path else origin_there == origin_id != ""

        live, read = JsonLiveFile(live_path(self._path)), JsonReadList(self._path)
        shown, files = live.read(), read.read()
        with suppress(StoreError):
            if (
                shown
                and (rows := _others(shown.sessions, lambda row: is_it(row.path, row.agent_session_id))) is not None
            ):
                live.write(replace(shown, sessions=tuple(rows)))
            if (left := _others(files, lambda one: is_it(one.path, one.origin_id))) is not None:
                read.write(left)


def _others(items: Sequence[T], is_it: Callable[[T], bool]) -> Sequence[T] | None:
    """Returns the items without those that are meant, or None if none is."""
    left = [item for item in items if not is_it(item)]
    return left if len(left) < len(items) else None


def _remove(folder: Path, name: str) -> None:
    """Removes the files of a folder that are called `name` and a suffix."""
    with suppress(OSError):
        for file in [*folder.iterdir()]:
            # The temporary file of one that is being written has a longer suffix.
            if file.name.startswith(f"{name}."):
                with suppress(OSError):
                    file.unlink()
