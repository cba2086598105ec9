"""The list of the files that were read whole, as a file next to the store."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.service.ports.read_files import ReadFile
from ullage.system.replaced_files import replace_file


class _ReadList(Struct, frozen=True, kw_only=True):
    """What the file holds. `by` is the version of Ullage that has read the files."""

    version: Literal[1] = 1
    by: str
    files: tuple[ReadFile, ...]


class JsonReadList:
    """The list next to the store at `store`. Only the user may read it."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.read.json")

    def read(self) -> Sequence[ReadFile]:
        """Returns the list, as `ReadFiles.read` describes."""
        try:
            known = msgspec.json.decode(self._path.read_bytes(), type=_ReadList)
        except (OSError, msgspec.DecodeError):
            return ()
        return known.files if known.by == __version__ else ()

    def write(self, files: Sequence[ReadFile]) -> None:
        """Replaces the list. Raises `StoreUnavailable`."""
        replace_file(self._path, msgspec.json.encode(_ReadList(by=__version__, files=tuple(files))))
