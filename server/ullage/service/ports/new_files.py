"""Port for files that are made for other programs."""

from typing import Protocol


class NewFiles(Protocol):
    """Makes files. Existing files are never changed."""

    def create(self, path: str, data: bytes) -> None:
        """Makes a file that only the user may read, and its folders. The file appears whole or not at all. Raises
        `InvalidRequest` if there is such a file, or if it can't be written."""
        ...
