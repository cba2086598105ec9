"""Copies agents' files into the archive: what is new in them, or the whole if it is no longer the same file.

What is kept of a file is a beginning of it. So nothing needs to be known but that a file has changed: it is read on
from where the archive ends, whether this process or another one has brought it there. A file that doesn't begin with
what is kept was shortened or written again, and a new version begins.
"""

from hashlib import sha256
from typing import Protocol

from ullage.agents.discovery import rows_at
from ullage.model.errors import StoreUnavailable
from ullage.service.ports.agent_files import Kept, OpenFile, OriginalFiles, Originals, Source

# Bytes that are read and stored in one transaction.
_STEP = 4 << 20
# Bytes at either end of what is kept that show whether a file still begins with it. Most records have their id and time
# within as many.
_COMPARED = 4_096
# Bytes of a file that is compared with what is kept from its first to its last byte whenever it is quiet. Of a larger
# one only the ends are, except in a pass.
_CHEAP = 16 << 20
# Milliseconds in which a file that is written again as a whole, and has not become shorter, has one version.
_ONE_VERSION = 600_000
_FULL = (
    "the archive has reached its limit of {limit:g} GB; `ullage forget --to SIZE` makes room, and the "
    "setting archive.limit raises it"
)
# Milliseconds. A conversation in a database whose agent has not changed it for so long when it was kept is not read
# again when the database changes: agents note the change before the last rows of an answer, but not a day before.
_SETTLED = 86_400_000
# What is appended to, record by record. Any other file is read when it is quiet: half of it would be a version.
_GROWING = (".jsonl", ".log", ".md", ".txt")


class _Digest(Protocol):
    """A digest that is being computed, as `hashlib` makes it."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class FileCopier:
    """Copies files into the archive.

    It remembers what the operating system said of files when all of them was kept: these are not read again. Files that
    an earlier version has pruned are among them. Nothing is copied if the archive has more than `limit` bytes; None is
    no limit.
    """

    def __init__(self, originals: Originals, files: OriginalFiles, limit: int | None = None) -> None:
        self._limit = limit
        self.originals = originals
        self._files = files
        self._whole = dict(originals.stats())

    def keep(self, source: Source, *, is_quiet: bool, pack: bool) -> bool:
        """Brings the archive up to date with a conversation's file and those that belong to it.

        `is_quiet` says that the agent is not writing it now, and `pack` that it is compressed at once. Returns whether
        something of the file is kept.

        Blocks. Raises `StoreError`, also if the archive is full, and `OSError` if a file can't be read.
        """
        has_any = self._keep_file(source, is_quiet=is_quiet, pack=pack)
        for file in self._files.beside(source.path):
            beside = Source(path=str(file), agent=source.agent, origin_id=source.origin_id, owner=source.path)
            self._keep_file(beside, is_quiet=is_quiet, pack=pack)
        return has_any

    def _keep_file(self, source: Source, *, is_quiet: bool, pack: bool) -> bool:
        stat, known = self._files.stat(source.path), self._whole.get(source.path)
        if stat and known and (stat == known or 0 < source.changed_at < known[2] // 1_000_000 - _SETTLED):
            return True
        kept = self.originals.latest(source.path)
        # New rows of a database come between old ones.
        is_growing = source.path.endswith(_GROWING) and rows_at(source.path) is None
        # A file that is written as a whole is empty for a moment.
        if not stat or stat[0] == 0 or not (is_growing or is_quiet):
            return kept is not None
        if self._limit is not None and self.originals.size() > self._limit:
            raise StoreUnavailable(_FULL.format(limit=self._limit / 1e9))
        with self._files.opened(source.path) as file:
            is_checked = is_quiet and (pack or stat[0] <= _CHEAP)
            checked = kept.checked if kept and is_checked else 0
            digest = _digest_on(sha256(), file, 0, checked)
            is_other = kept is None or not _begins_with(file, kept) or (checked > 0 and digest.digest() != kept.digest)
            if kept is None or is_other:
                kept = self.originals.begin(source, None if kept is None or is_growing else _replaced(kept, file))
                digest, checked = sha256(), 0
            kept = self._append(file, kept, is_quiet=is_quiet, pack=pack)
            if kept.size == file.stat[0]:
                whole = _digest_on(digest, file, checked, kept.size).digest() if is_checked else b""
                self.originals.settle(kept.version_id, file.stat, whole)
                self._whole[source.path] = file.stat
        return True

    def _append(self, file: OpenFile, kept: Kept, *, is_quiet: bool, pack: bool) -> Kept:
        """Keeps what the file has more than the archive. The end of a line that is being written is left for later."""
        while data := file.read(kept.size, _STEP):
            if not is_quiet and len(data) < _STEP:
                data = data[: data.rfind(b"\n") + 1]
            if not data:
                break
            mark = _mark(file, kept.size + len(data))
            kept = self.originals.append(kept.version_id, kept.size, data, mark, pack=pack)
        return kept


def _digest_on(digest: _Digest, file: OpenFile, start: int, end: int) -> _Digest:
    """Adds the bytes of a file from `start` to `end` to a digest, and returns it."""
    while start < end and (data := file.read(start, min(_STEP, end - start))):
        digest.update(data)
        start += len(data)
    return digest


def _replaced(kept: Kept, file: OpenFile) -> int | None:
    """Returns the version that a new one replaces, if the file is one that its agent writes again as a whole for every
    answer: it is not shorter than before, and the version has not existed for long."""
    is_longer = file.stat[0] >= kept.size
    return kept.version_id if is_longer and file.stat[2] // 1_000_000 - kept.began_at < _ONE_VERSION else None


def _begins_with(file: OpenFile, kept: Kept) -> bool:
    return file.stat[0] >= kept.size and (kept.size == 0 or _mark(file, kept.size) == kept.mark)


def _mark(file: OpenFile, size: int) -> bytes:
    """Returns a digest of both ends of the first `size` bytes of a file."""
    ends = file.read(0, min(size, _COMPARED)), file.read(max(0, size - _COMPARED), min(size, _COMPARED))
    return sha256(b"".join(ends)).digest()
