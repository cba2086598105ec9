"""The port to the files that a prompt links to."""

from typing import Protocol

from msgspec import Struct

from ullage.service.ports.models import Question


class FoundFile(Struct, frozen=True, kw_only=True):
    """A file or folder that a prompt links to. `path` is absolute, with links followed; a reading does not leave
    `folder`. `question` is what the user must be asked before it is read, None where it may be read without asking."""

    path: str
    folder: str
    is_folder: bool = False
    question: Question | None = None


class FileContent(Struct, frozen=True, kw_only=True):
    """What was read of a file: its text, or the `data` and media type of a picture or a PDF. `fault` ends a sentence
    that says why nothing was read."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    fault: str = ""


class LinkedFiles(Protocol):
    """Finds and reads the files that a prompt links to."""

    async def find(self, session_id: str, cwd: str, path: str) -> FoundFile | None:
        """Returns the file or folder at a path, which is absolute or relative to the session's folder `cwd`. Returns
        None if there is none."""
        ...

    async def read(self, session_id: str, file: FoundFile) -> FileContent:
        """Returns the content of a found file, as the user's editor holds it if it can say. Never raises."""
        ...
