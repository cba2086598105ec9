"""The twin of `OwnFiles`: the agents' own files are those that a test says."""

from pathlib import Path


class KnownOwnFiles:
    """A machine on which agents keep the files in these folders. A file that a test deletes is there no more."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def path_of(self, path: str) -> str:
        return path if any(Path(path).is_relative_to(folder) for folder in self._folders) else ""

    def has(self, path: str) -> bool:
        return bool(path) and Path(path).exists()
