"""The list of the agents' conversations that the user has Ullage forget, as a file next to the store: their files are
not read again until they change."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.agents.discovery import DATABASES
from ullage.system.replaced_files import replace_file

# Conversations in the list. Those that would be read again because they are not in it were forgotten first.
_MOST = 5_000


class _Forgotten(Struct, frozen=True, kw_only=True):
    """What the file holds: the times, in Unix milliseconds, by the file's path or, in a database, by that and the
    agent's own id of the conversation."""

    version: Literal[1] = 1
    times: dict[str, int]


class ForgottenList:
    """The list next to the store at `store`. Only the user may read it. It has no text of a conversation."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.forgotten.json")

    def read(self) -> Mapping[str, int]:
        """Returns the times at which conversations were forgotten, by `forgotten_key`."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Forgotten).times
        except (OSError, msgspec.DecodeError):
            return {}

    def add(self, path: str, origin_id: str, at: int) -> None:
        """Adds a conversation. Raises `StoreUnavailable`."""
        times = [*self.read().items()][1 - _MOST :]
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(
            self._path, msgspec.json.encode(_Forgotten(times={**dict(times), forgotten_key(path, origin_id): at}))
        )


def forgotten_key(path: str, origin_id: str) -> str:
    """Returns what names a conversation in the list. `path` is that of its file or its database."""
    return f"{path}\n{origin_id}" if path.endswith(DATABASES) else path
