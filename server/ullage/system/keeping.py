"""Whether the user wants agents' files kept in the archive: the answer to a question that is asked once."""

import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.system.replaced_files import replace_file


class _Answer(Struct, frozen=True, kw_only=True):
    """What the file holds. `at` is the time of the answer, in Unix milliseconds."""

    version: Literal[1] = 1
    keep: bool
    at: int


class Keeping:
    """The answer next to the store at `store`."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.keeping.json")

    @property
    def wanted(self) -> bool | None:
        """Whether the user wants files kept; None before the first answer."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Answer).keep
        except (OSError, msgspec.DecodeError):
            return None

    def answer(self, *, keep: bool) -> None:
        """Notes the answer. A process that already follows takes notice of it when it starts again. Raises
        `StoreUnavailable`."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path, msgspec.json.encode(_Answer(keep=keep, at=time.time_ns() // 1_000_000)))
