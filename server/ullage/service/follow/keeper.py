"""Keeps agents' files in the archive, as they come: those that are followed at once, all others in the background.

The files are copied in threads, and no conversation waits for it.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import PurePath

from msgspec import Struct

from ullage.agents.discovery import kept_path, origin_in
from ullage.model.errors import InputError, StoreError
from ullage.service.follow.file_copier import FileCopier
from ullage.service.ports.agent_files import FoundFile, KeptPorts, Source

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


class Keeper:
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
            await self._linked(copier, one.source.path, one.session_id)
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

    async def _linked(self, copier: FileCopier, path: str, session_id: str) -> None:
        try:
            await asyncio.to_thread(copier.originals.link, path, session_id)
        except StoreError as error:
            self._failed(error)

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
