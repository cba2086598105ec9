"""The readings of agents' files, each in a file of a folder next to the store."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.model.errors import StoreUnavailable
from ullage.service.ports.agent_files import FoundFile, KeptReading
from ullage.system.replaced_files import replace_file

# Readings in the folder, and bytes of them. A reading takes up to a third of its file, and only the files that continue
# need theirs: a user has few of these at once.
_MOST, _LARGEST = 200, 64 << 20


class _Kept(Struct, frozen=True, kw_only=True):
    """What a file holds. `by` is the version of Ullage that has read the agent's file."""

    version: Literal[1] = 1
    by: str
    reading: KeptReading


class ReadingsFolder:
    """The readings next to the store at `store`. Only the user may read them."""

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}.readings")

    def read(self, found: FoundFile) -> KeptReading | None:
        """Returns the reading of a file, as `KeptReadings.read` describes."""
        path, origin_id = str(found.path), found.origin_id
        try:
            kept = msgspec.msgpack.decode(self._file_of(path, origin_id).read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return None
        one = kept.reading
        return one if kept.by == __version__ and (one.path, one.origin_id) == (path, origin_id) else None

    def write(self, reading: KeptReading) -> None:
        """Keeps a reading, as `KeptReadings.write` describes; one that has no room by itself is not kept. Raises
        `StoreUnavailable`."""
        data = msgspec.msgpack.encode(_Kept(by=__version__, reading=reading))
        if len(data) > _LARGEST:
            return
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._make_room(len(data))
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self._folder}: {error.strerror or error}") from error
        replace_file(self._file_of(reading.path, reading.origin_id), data)

    def remove(self, path: str, origin_id: str) -> None:
        """Removes the readings of a conversation in the file at `path`, if there are any."""
        for file in (self._file_of(path, origin_id), self._file_of(path, "")):
            with suppress(OSError):
                file.unlink()

    def _make_room(self, size: int) -> None:
        """Removes the oldest readings as long as there are too many for another one of `size` bytes."""
        kept = sorted(((file, file.stat()) for file in self._folder.iterdir()), key=lambda one: one[1].st_mtime_ns)
        room = _LARGEST - size - sum(status.st_size for _, status in kept)
        too_many = len(kept) + 1 - _MOST
        for number, (file, status) in enumerate(kept):
            if room >= 0 and number >= too_many:
                break
            room += status.st_size
            with suppress(FileNotFoundError):
                file.unlink()

    def _file_of(self, path: str, origin_id: str) -> Path:
        return self._folder / sha256(f"{path}\0{origin_id}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
