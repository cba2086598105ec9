"""Removes what is kept next to the store of an agent's session alone: what hooks gave back and passed on, and how far
its file was read. The archive keeps its copy of the agent's file until it is pruned."""

from contextlib import suppress
from pathlib import Path

from ullage.system.kept_readings import ReadingsFolder


class SessionTraces:
    """The files next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def __call__(self, agent_session_id: str, path: str, /) -> None:
        """Removes those of the session to which its agent gave this id, and of its file. What can't be removed
        stays."""
        ReadingsFolder(self._store).remove(path, agent_session_id)
        if agent_session_id and Path(agent_session_id).name == agent_session_id:
            for folder in ("given", "hooks"):
                _remove(self._store.with_name(f"{self._store.name}.{folder}"), agent_session_id)


def _remove(folder: Path, name: str) -> None:
    """Removes the files of a folder that are called `name` and a suffix."""
    with suppress(OSError):
        for file in [*folder.iterdir()]:
            # The temporary file of one that is being written has a longer suffix.
            if file.name.startswith(f"{name}."):
                with suppress(OSError):
                    file.unlink()
