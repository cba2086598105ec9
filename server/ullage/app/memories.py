"""Where a project's memory lies: beside the sessions, wherever those are."""

from pathlib import Path

from ullage.store.memory_base import memory_base
from ullage.store.memory_files import FolderMemory


def project_memory(cwd: str, store_path: Path | None) -> FolderMemory:
    """The memory of the project at `cwd`, or, without one, the user's own."""
    return FolderMemory(memory_base(cwd or None, store_path.absolute().parent if store_path else None))
