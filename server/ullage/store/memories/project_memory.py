"""Finds the folders of memories: one for the user and one for each project, next to the store's file."""

import hashlib
import re
from pathlib import Path

from ullage.store.memories.memory_files import FolderMemory

_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


def memory_base(cwd: str | None = None, data: Path | None = None) -> Path:
    """Returns the base folder of the memory of the project at `cwd`, or of the user's own memory if `cwd` is None.

    It is in the user's data folder, or in `data` if that is given, not in the project: a checkout that comes from
    elsewhere brings no memory with it. A project is known by its folder's real path, so that a link to it leads to the
    same memory.
    """
    root = (data or _user_data()) / "memories"
    if cwd is None:
        return root / "user"
    real = Path(cwd).resolve()
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return root / "projects" / f"{_PLAIN.sub('-', real.name)[:40]}-{digest}"


def _user_data() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False)


def project_memory(cwd: str, store_path: Path | None) -> FolderMemory:
    """Returns the memory of the project at `cwd`, or the user's own if `cwd` is empty. Its files are in the folder of
    the store at `store_path`, or in the user's data folder if that is None."""
    return FolderMemory(memory_base(cwd or None, store_path.absolute().parent if store_path else None))
