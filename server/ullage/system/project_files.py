"""Reads the files of a project that give an agent instructions."""

from collections.abc import Sequence
from pathlib import Path

from ullage.service.ports.world import ProjectFile


class LocalProjectFiles:
    """The files of projects on this machine's disk, for the port `ProjectFiles`. Unreadable files, and links that lead
    out of the project's folder, count as missing."""

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        root = Path(folder)
        if not folder or not root.is_absolute():
            return ()
        try:
            root = root.resolve(strict=True)
            reads = any(root.is_relative_to(Path(one).expanduser().resolve()) for one in trusted)
            return tuple(file for name in names if (file := _look(root, name, most if reads else 0)))
        except (OSError, RuntimeError, ValueError):
            return ()


def _look(root: Path, name: str, most: int) -> ProjectFile | None:
    path = (root / name).resolve()
    # A symbolic link may point anywhere, for example to a key.
    if not path.is_relative_to(root) or not path.is_file():
        return None
    if not most:
        return ProjectFile(path=name)
    with path.open(encoding="utf-8", errors="replace") as file:
        return ProjectFile(path=name, text=file.read(most))
