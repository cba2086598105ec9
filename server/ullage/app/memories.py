"""Finds the folder of a project's memory, which is next to the store."""

from pathlib import Path

from ullage.store.memory_base import memory_base
from ullage.store.memory_files import FolderMemory


def project_memory(cwd: str, store_path: Path | None) -> FolderMemory:
    """Returns the memory of the project at `cwd`, or the user's own memory if `cwd` is empty."""
    return FolderMemory(memory_base(cwd or None, store_path.absolute().parent if store_path else None))
