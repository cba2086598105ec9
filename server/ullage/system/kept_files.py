"""Reads agents' files for the archive: their bytes, and which files belong to a conversation.

The rows of a conversation in a database are read as a file with one row a line, in the order of the tables' names.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from ullage.agents.discovery import rows_at
from ullage.agents.transcripts import kept_beside
from ullage.system.single_files import files_beside, read_database

# What SQLite writes changes to first, and its index, which the running agent has.
_AHEAD, _INDEX = "-wal", "-shm"
# Bytes of a database that is copied to be read, because its agent ended without closing it. A larger one is read when
# the agent runs again: there is a copy for each of its conversations.
_MOST_COPIED = 32 << 20


class _Open:
    """An open file; see `OpenFile`."""

    def __init__(self, file: BinaryIO, stat: tuple[int, ...]) -> None:
        self._file = file
        self.stat = stat

    def read(self, start: int, most: int) -> bytes:
        self._file.seek(start)
        return self._file.read(most)


class AgentOriginals:
    """The files of this machine."""

    def __init__(self) -> None:
        # How the conversations in databases that were read were described.
        self._read: dict[str, tuple[int, ...]] = {}

    def stat(self, path: str) -> tuple[int, ...]:
        """Returns what the operating system says of a file, or an empty tuple; see `OriginalFiles.stat`."""
        rows = rows_at(path)
        try:
            if rows is None:
                return _described(Path(path).stat())
            now, known = _changed(Path(rows[0])), self._read.get(path)
        except (OSError, ValueError):
            return ()
        return known if known and known[2] == now else (1, 0, now)

    @contextmanager
    def opened(self, path: str) -> Generator[_Open]:
        """Opens a file; see `OriginalFiles.opened`. Raises `InvalidRequest` for a database that can't be read."""
        rows = rows_at(path)
        if rows is None:
            with Path(path).open("rb") as file:
                yield _Open(file, _described(os.fstat(file.fileno())))
            return
        database, changed = Path(rows[0]), _changed(Path(rows[0]))
        data = _rows_of(database, rows[1])
        self._read[path] = len(data), 0, changed
        yield _Open(BytesIO(data), self._read[path])

    def beside(self, path: str) -> Sequence[Path]:
        """Returns the files that belong to a conversation's own file; see `OriginalFiles.beside`."""
        if rows_at(path):
            return []
        file = Path(path)
        try:
            return [one for one in files_beside(file, kept_beside(file.as_posix())) if one != file]
        except (OSError, ValueError, RuntimeError):
            return []


def _described(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_size, stat.st_ino, stat.st_mtime_ns


def _changed(database: Path) -> int:
    """Returns the time at which a database or its write-ahead log was last written, in nanoseconds."""
    own, ahead = database.stat().st_mtime_ns, database.with_name(database.name + _AHEAD)
    try:
        return max(own, ahead.stat().st_mtime_ns)
    except OSError:
        return own


def _rows_of(database: Path, origin_id: str) -> bytes:
    """Returns the rows of one conversation as JSON lines. Raises `OSError` if it is not there."""
    ahead, index = (database.with_name(database.name + ending) for ending in (_AHEAD, _INDEX))
    if ahead.exists() and not index.exists() and database.stat().st_size > _MOST_COPIED:
        raise OSError(f"{database} was not closed; it is read when its agent runs again")
    lines = read_database(database, origin_id).lines
    if not lines:
        raise FileNotFoundError(f"{database} has no conversation {origin_id}")
    return b"".join(msgspec.json.encode(line.value) + b"\n" for line in lines)
