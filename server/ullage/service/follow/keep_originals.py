"""Keeps agents' files in the archive, as they come: those that are followed at once, all others in the background.

The files are copied in threads, and no conversation waits for it. What is kept of a file is a beginning of it. So
nothing needs to be known but that a file has changed: it is read on from where the archive ends, whether this process
or another one has brought it there. A file that doesn't begin with what is kept was shortened or written again, and a
new version begins.
"""

import asyncio
import logging
from collections.abc import Callable
from hashlib import sha256
from pathlib import PurePath
from typing import Protocol

from msgspec import Struct

from ullage.agents.discovery import kept_path, origin_in, rows_at
from ullage.model.errors import InputError, StoreError, StoreUnavailable
from ullage.service.ports.agent_files import FoundFile, Kept, KeptPorts, OpenFile, OriginalFiles, Originals, Source

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


log = logging.getLogger(__name__)
# Seconds without a change after which a file is taken as quiet: neither a line nor the whole is being written.
_QUIET = 1.0
# Seconds between two looks at a conversation in the first minute of quiet, and later, and seconds after which it is
# left to the next pass. Its sub-agents may continue while its own file is quiet, but the longer it is, the less so: a
# look is put off by this part of the time.
_OFTEN, _SELDOM, _RECENT, _OVER = 5.0, 20.0, 60.0, 900.0
_PUT_OFF = 0.1
# Seconds without a change after which what is kept of a file is compressed.
_PACKED = 10.0
# Seconds between two looks for the user's answer.
_ASKED_EVERY = 1.0
# Seconds between two passes over all files.
_PASS_EVERY = 600.0
# The share of the time in which a pass works: a reader who waits for a figure comes first.
_SHARE = 0.5


class _Changed(Struct):
    """A file that has changed. `due` is the time of the next look, `changed` that of the last change, both as
    `loop.time` gives them. `session_id` is that of its session until it is linked, then "". `is_packed` says that all
    that is kept of it is compressed."""

    source: Source
    due: float
    changed: float
    session_id: str = ""
    is_packed: bool = False


class OriginalsKeeper:
    """Keeps files in the archive, until it has `limit` bytes; None is no limit. The archive is open while `run` runs.
    `notify` is called with a sentence for the user when the archive is full or can't be written, once until it can be
    again."""

    def __init__(self, ports: KeptPorts, limit: int | None, notify: Callable[[str], object] = log.warning) -> None:
        self._ports = ports
        self._limit = limit
        self._notify = notify
        self._changed: dict[str, _Changed] = {}
        # The conversations' files that are being kept now. One is never kept twice at once.
        self._busy: set[str] = set()
        self._awake = asyncio.Event()
        self._has_failed = False

    def changed(self, found: FoundFile, agent: str, session_id: str, quiet: float = 0.0) -> None:
        """Notes that the file of a followed conversation has changed, `quiet` seconds ago: that of this agent, in this
        session. Returns at once."""
        if found.run is not None:
            return
        now, path = asyncio.get_running_loop().time(), kept_path(str(found.path), found.origin_id)
        if not path:
            return
        source = Source(path=path, agent=agent, origin_id=origin_in(PurePath(path).as_posix()))
        self._changed[path] = _Changed(source=source, due=now, changed=now - quiet, session_id=session_id)
        self._awake.set()

    async def run(self) -> None:
        """Keeps files until it is cancelled, from when the user wants it. Returns if the archive can't be opened."""
        self._awake.clear()
        while not await asyncio.to_thread(self._ports.is_wanted):
            # The answer is looked for when there would be something to keep. Older changes are found in the pass.
            await self._awake.wait()
            await asyncio.sleep(_ASKED_EVERY)
            self._awake.clear()
            since = asyncio.get_running_loop().time() - _OVER
            self._changed = {path: one for path, one in self._changed.items() if one.changed > since}
        try:
            copier = await asyncio.to_thread(self._open)
        except StoreError as error:
            self._failed(error)
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_changed(copier))
                group.create_task(self._keep_all(copier))
        finally:
            copier.originals.close()

    def _open(self) -> FileCopier:
        return FileCopier(self._ports.open(), self._ports.files, self._limit)

    async def _keep_changed(self, copier: FileCopier) -> None:
        loop = asyncio.get_running_loop()
        while True:
            for path, one in list(self._changed.items()):
                if one.due <= loop.time() and path not in self._busy:
                    await self._look(copier, path, one)
            self._awake.clear()
            # A file that is busy is looked at again a moment later.
            dues = (
                max(one.due, loop.time() + 0.1) if path in self._busy else one.due
                for path, one in self._changed.items()
            )
            due = min(dues, default=None)
            try:
                async with asyncio.timeout_at(due):
                    await self._awake.wait()
            except TimeoutError:
                continue

    async def _look(self, copier: FileCopier, path: str, one: _Changed) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time() - one.changed
        is_quiet = since >= _QUIET
        one.due = loop.time() + (
            _QUIET if not is_quiet else _OFTEN if since < _RECENT else max(_SELDOM, _PUT_OFF * since)
        )
        kept = await self._guarded(copier, one.source, is_quiet=is_quiet, pack=False)
        if kept and one.session_id:
            try:
                await asyncio.to_thread(copier.originals.link, one.source.path, one.session_id)
            except StoreError as error:
                self._failed(error)
            one.session_id = ""
        if since >= _PACKED and not one.is_packed:
            one.is_packed = await self._packed(copier, path)
        if since > _OVER and self._changed.get(path) is one:
            del self._changed[path]

    async def _packed(self, copier: FileCopier, path: str) -> bool:
        try:
            await asyncio.to_thread(copier.originals.pack, path)
        except StoreError as error:
            self._failed(error)
            return False
        return True

    async def _keep_all(self, copier: FileCopier) -> None:
        loop = asyncio.get_running_loop()
        # What another process has left, which was killed.
        await self._packed(copier, "")
        while True:
            for source in await asyncio.to_thread(self._ports.find):
                began = loop.time()
                if source.path not in self._changed and source.path not in self._busy:
                    await self._guarded(copier, source, is_quiet=True, pack=True)
                    await asyncio.sleep((loop.time() - began) * (1 / _SHARE - 1))
            await asyncio.sleep(_PASS_EVERY)

    async def _guarded(self, copier: FileCopier, source: Source, *, is_quiet: bool, pack: bool) -> bool:
        """Keeps a file and those that belong to it. Returns whether something of it is kept."""
        self._busy.add(source.path)
        try:
            kept = await asyncio.to_thread(copier.keep, source, is_quiet=is_quiet, pack=pack)
        except (OSError, InputError) as error:
            log.info("%s is not kept now: %s", source.path, error)
            return False
        except StoreError as error:
            self._failed(error)
            return False
        finally:
            self._busy.discard(source.path)
        self._has_failed = False
        return kept

    def _failed(self, error: StoreError) -> None:
        if not self._has_failed:
            self._notify(f"agents' files are not kept now: {error}")
        self._has_failed = True
