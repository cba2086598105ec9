"""Follows agents' conversations on this machine: finds those that continue, and reads what is added to them.

Where the operating system says which files change, a file is looked at when it has. Any other is looked at again and
again: often if it has just changed, because it will soon change again; one that has been quiet for long is left to the
search for new ones. A look at an unchanged file asks the operating system once for its size and time. The list of the
files that were read whole is kept, so that the next follower reads only what has changed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from msgspec.structs import replace

from ullage.agents.discovery import DATABASES
from ullage.model.errors import InputError, NotFound, SessionNotFound, StoreError
from ullage.model.usage import FollowedRow, RateLimit
from ullage.service.archive.naming import list_main
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import publish_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import ENDED, FollowedFile
from ullage.service.follow.keep_originals import OriginalsKeeper
from ullage.service.follow.rows import LiveRows, ended, row_of
from ullage.service.ports.agent_files import AgentPorts, Changes, FoundFile, Mark, ReadFile, ReadFiles, ToldWindow

# Seconds between two writes of the list. What is not in it when the process dies is read again.
_WRITE_LIST_EVERY = 5.0
# Files in the list. Those that are read again because they are not in it are the ones that were read first.
_MOST_LISTED = 5_000


class ReadFilesKept:
    """The list as it is now, and as it is written. `begin` is called when this process follows, once."""

    def __init__(self, files: ReadFiles) -> None:
        self._files = files
        self._known: dict[tuple[str, str], ReadFile] = {}
        self._has_changed = False
        self._written_at = 0.0

    def begin(self) -> None:
        self._known = {(one.path, one.origin_id): one for one in self._files.read()}

    def take(self, found: FoundFile) -> ReadFile | None:
        """Removes a file from the list and returns what was known of it, or None."""
        known = self._known.pop((str(found.path), found.origin_id), None)
        self._has_changed |= known is not None
        return known

    def note(self, found: FoundFile, read: ReadFile) -> None:
        """Adds a file that was read whole."""
        self._known[str(found.path), found.origin_id] = read
        self._has_changed = True

    @property
    def due(self) -> float | None:
        """The time in seconds at which the list is to be written; None if it has not changed."""
        return self._written_at + _WRITE_LIST_EVERY if self._has_changed else None

    def write_sometimes(self, now: float) -> None:
        """Writes the list if it has changed, unless it was written just now. `now` is a time in seconds."""
        if self.due is not None and now >= self.due:
            self._written_at = now
            self.write()

    def write(self) -> None:
        """Writes the list if it has changed. A failure is logged: the list only saves work."""
        if not self._has_changed:
            return
        try:
            self._files.write(tuple(self._known.values())[-_MOST_LISTED:])
        except StoreError as error:
            log.info("the list of files that were read is not written: %s", error)
        self._has_changed = False


log = logging.getLogger(__name__)
# Seconds between two searches for conversations that continue. A search asks for the time of every known file, so where
# there are many the searches are further apart: they may take this share of a processor. They are never further apart
# than the last number, because a search is also slow where the machine is busy, and what begins must be seen.
_SEARCH_EVERY, _SEARCH_SHARE, _SEARCH_AT_LATEST = 2.0, 0.0025, 15.0
# The share of the time that a search of databases for others may take, each time that a conversation in them grows: the
# list of one with fifty takes some milliseconds. They are never further apart than searches.
_DATABASES_SHARE = 0.1
# Seconds after which a change of a database can be read as well.
_VISIBLE = 0.1
# Seconds after which everything is searched once, where the system says what changes: it may have been wrong.
_TRUSTED = 600.0
# Seconds between two looks at a file whose changes the system says: an agent may write a hundred times a second.
_TOLD_EVERY = 0.05
# Seconds between two looks at whether agents' processes run, if the system does not say that one has ended.
_PROCESSES_EVERY = 2.0
# Seconds between two looks at a file that has changed in the last minute, and at a user's conversation that has in the
# last quarter of an hour: its user thinks, or its agent waits for a tool. A user who watches an agent's figure sees a
# delay of more than a quarter of a second.
_LOOK_EVERY, _RECENT, _LOOK_OFTEN = 0.1, 60.0, 0.2
# Seconds between two looks at any other file: this part of the time since its last change, within these bounds. There
# may be hundreds of files of the last hour, and who comes back to one after a while has to type first. All looks are at
# the same moments, so that the process sleeps in between.
_LOOK_AFTER, _LOOK_SELDOM, _LOOK_AT_LATEST = 1 / 300, 1.0, 3.0
# Seconds without a change after which the session gets what a file ends with: at first what the file says is complete,
# then the rest. Claude Code 2.1.197 was seen to write the calls of one answer half a second apart. The row waits for
# neither.
_SETTLES = (1.0, ENDED)
# Seconds without a change after which a conversation begins with what its file ends with, if that is complete: a prompt
# whose parts an agent writes one after the other, within milliseconds. Its row waits for this.
_BEGINS = 0.1
# A look at what a file ends with takes the longer the larger the conversation is. Of the time until the next one it may
# take this part, so that a large file that grows does not keep a processor busy.
_AHEAD_SHARE = 0.5
# Seconds between two tries to take the lease. If the process that has it dies, another must have replaced it within two
# seconds. What it shows is looked at as often, or when the system says that it has changed.
_TAKE_EVERY, _TAKE_SELDOM = 0.1, 1.0
# Seconds between two writes of the live file: a few a second, however many conversations grow at once. Who reads it
# sees a figure a quarter of a second after the agent has written it.
_SHOW_EVERY = 0.15
# Seconds, more than those, until the live file is tried again that could not be written.
_TRY_AGAIN = 1.0
# Stored sessions, last changed first, that a process shows at first that does not follow itself.
_LISTED = 50
# Seconds without a change after which a file is no longer looked at by itself.
_QUIET = 900.0
# Seconds after which files are kept, and others read, although some are still being read into their sessions.
_KEEP_AT_LATEST = 60.0
# Seconds that a look may take before others begin: one at a large file that can only be read whole takes longer.
_PATIENCE = 0.1
# Files from which a piece is read in one round, if their sessions have only a part of them. Many that are read in turns
# would be in memory together, and none would be whole before all are.
_BEHIND = 2


def _moment(at: float, step: float, now: float) -> float:
    """Returns the last multiple of `step` that is not after `at`, all in seconds. What is rounded to `now` is the next
    one, because a file that is due at once is looked at for ever."""
    moment = at // step * step
    return moment if moment > now else moment + step


class _Followed:
    """A followed file, with the time of its last change and the time of the next look, as `loop.time` gives them."""

    def __init__(self, file: FollowedFile, now: float, *, is_side: bool) -> None:
        self.file = file
        # Whether it is a sub-agent's.
        self.is_side = is_side
        self.changed = now
        self.due = now
        # When the last look began, and whether the system has said since that the file has changed.
        self.looked = now - _TOLD_EVERY
        # Seconds from then to the next look at the earliest. A file that can only be read whole takes its time.
        self.pause = _TOLD_EVERY
        self.is_touched = False
        # The seconds without a change after which it last settled; 0 if it has not since the last change.
        self.settled = 0.0
        # Whether the file was read to its end once.
        self.is_read = False
        # Whether the session has only a part of the file, and the next look reads more of it.
        self.is_behind = False
        # Whether its reading may have to be kept for the next process.
        self.is_unkept = False
        # Of the file when its end was looked at, while the session has only a part of it.
        self.seen_size = -1
        # Whether its row has to be made, and the earliest time for this.
        self.is_unshown = False
        self.shown_again = now
        # How far the file had been read when that was noted for the next process.
        self.noted: Mark | None = None
        # Whether the row shows what the file ends with, which its session does not have.
        self.is_ahead = False
        # What its agent was known to say to its status line.
        self.said: tuple[ToldWindow | None, tuple[RateLimit, ...]] = None, ()

    def settles(self, now: float) -> float | None:
        """Returns the seconds without a change, if they are enough to settle, or to settle once more."""
        quiet = now - self.changed
        return quiet if any(self.settled < enough <= quiet for enough in self._settling) else None

    @property
    def _settling(self) -> tuple[float, ...]:
        return (_BEGINS, *_SETTLES) if self.file.may_begin else _SETTLES

    def touch(self, now: float) -> None:
        """Takes notice that the file has changed."""
        self.is_touched, self.due = True, max(now, self.looked + self.pause)

    def show_again(self, now: float) -> None:
        """Takes notice that its row may be another one though the file has not changed."""
        self.is_unshown, self.seen_size = True, -1
        self.due = min(self.due, max(now, self.shown_again))

    def wait_for_word(self, now: float, since: float) -> None:
        """Sets the time of the next look after `now`: when it has changed, when it settles, or when it is over."""
        dues = [self.changed + enough for enough in self._settling if self.settled < enough]
        dues += [self.shown_again] if self.is_unshown else []
        due = min([*dues, self.changed + max(_QUIET, since) + _LOOK_EVERY])
        self.due = max(now if self.is_touched else due, self.looked + self.pause)

    def wait(self, now: float) -> None:
        """Sets the time of the next look, after one at the time `now`."""
        quiet = now - self.changed
        if quiet < _RECENT:
            self.due = now + _LOOK_EVERY
            return
        if quiet < _QUIET and not self.is_side:
            self.due = _moment(now + _LOOK_OFTEN, _LOOK_OFTEN, now)
            return
        pause = min(max(_LOOK_SELDOM, _LOOK_AFTER * quiet), _LOOK_AT_LATEST)
        self.due = _moment(now + pause, _LOOK_SELDOM, now)

    def is_over(self, now: float, since: float) -> bool:
        """Returns whether the file has not changed for so long that it is no longer looked at by itself."""
        return now - self.changed > max(_QUIET, since)


def _wake(loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    """Wakes the follower from any thread."""
    with suppress(RuntimeError):
        # The loop may just have been closed.
        loop.call_soon_threadsafe(told.set)


def _first(failed: ExceptionGroup[Exception]) -> Exception:
    """Returns the first error of a group, which may be in a group itself."""
    first = failed.exceptions[0]
    return _first(cast("ExceptionGroup[Exception]", first)) if isinstance(first, ExceptionGroup) else first


def search_pause(took: float) -> float:
    """Returns the seconds between the beginnings of a search that took so many seconds and of the next one."""
    return min(max(_SEARCH_EVERY, took / _SEARCH_SHARE), _SEARCH_AT_LATEST)


class AgentFollower:
    """Follows the transcripts that changed in the last `since` seconds.

    Only the process that holds the lease follows, because two would append the same messages twice. It writes the live
    file, from which the others take what it follows. `listener` is called with the row of each conversation that
    continues, at first and after each change. Once all of them are read, `keeper` keeps agents' files.
    """

    def __init__(
        self,
        workspace: Workspace,
        ports: AgentPorts,
        listener: Callable[[FollowedRow], object],
        since: float,
        keeper: OriginalsKeeper | None = None,
    ) -> None:
        self._workspace = workspace
        self._ports = ports
        self._listener = listener
        self._since = since
        self._keeper = keeper
        self._followed: dict[FoundFile, _Followed] = {}
        # The looks that have not ended.
        self._looks: dict[FoundFile, asyncio.Task[None]] = {}
        self._live = LiveRows(self._is_stored)
        # Parents of sub-agents, by the agent and its own id, and whether the store has them.
        self._stored: dict[tuple[str, str], bool] = {}
        self._shown_at = -_SHOW_EVERY
        # Set when every file that was found at first was looked at, and when all of them were read to their ends.
        self._shown, self._whole = asyncio.Event(), asyncio.Event()
        # Set when the listener knows what there was at first, from this process or from the one that follows.
        self.looked = asyncio.Event()
        self._read = ReadFilesKept(ports.read)
        self._store_version = -1
        # The rows that the listener knows.
        self._known: dict[str, FollowedRow] = {}
        # The sessions that were opened here.
        self._opened: set[str] = set()
        # When agents' processes are looked at next, and when databases are searched; and when these changed last.
        self._processes_at = self._databases_at = 0.0
        self._databases: dict[str, float] = {}
        # Set when the system, or an agent, says that something has changed.
        self._told = asyncio.Event()

    async def run(self) -> None:
        """Follows until it is cancelled."""
        try:
            await self._run()
        finally:
            self._ports.close()

    async def _run(self) -> None:
        loop, watching = asyncio.get_running_loop(), self._ports.watching
        # What the last follower knew is shown at once, while the files are read.
        self._look_at_live_file()
        await asyncio.to_thread(watching.begin, partial(_wake, loop, self._told))
        try:
            if not self._ports.lease.take():
                self._look_at_store()
                self.looked.set()
                told_at = -_TAKE_EVERY
                while not self._ports.lease.take():
                    # What the system says of SQLite's files can be read a moment later.
                    is_quiet = watching.is_complete and loop.time() > told_at + _TAKE_EVERY
                    await self._sleep(_TAKE_SELDOM if is_quiet else _TAKE_EVERY)
                    if watching.changes().is_own:
                        told_at, is_quiet = loop.time(), False
                    if not is_quiet:
                        self._look_at_live_file()
            await self._lead()
        finally:
            watching.end()

    async def _lead(self) -> None:
        """Follows, in the one process that does."""
        self._read.begin()
        try:
            async with asyncio.TaskGroup() as group:
                for run in (self._keeper and self._keeper.run, self._ports.read_older):
                    if run:
                        group.create_task(self._after_reading(run))
                group.create_task(self._follow())
        except ExceptionGroup as failed:
            # Whoever runs it tells an error by its type.
            raise _first(failed) from failed
        finally:
            for look in self._looks.values():
                look.cancel()
            await asyncio.gather(*self._looks.values(), return_exceptions=True)
            for followed in self._followed.values():
                followed.file.publish()
            self._read.write()
            self._ports.lease.give_up()

    async def _sleep(self, seconds: float) -> None:
        """Sleeps until the system says that something has changed, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._told.wait()
        self._told.clear()

    async def _after_reading(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Copying and compressing take a third of a processor's time from reading, and a user waits for the sessions.
        await self._shown.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(_KEEP_AT_LATEST):
                await self._whole.wait()
        await run()

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        next_search = loop.time()
        while True:
            now, changes = loop.time(), self._ports.watching.changes()
            if now >= next_search or changes.is_anywhere:
                await self.search()
                pause = search_pause(loop.time() - now)
                next_search = now + (_TRUSTED if self._ports.watching.is_complete else pause)
            else:
                await self._take_changes(changes)
            await self._look_at_due()
            self._shown.set()
            self.looked.set()
            if not self._looks and not any(followed.is_behind for followed in self._followed.values()):
                self._whole.set()
            self._show(loop.time())
            self._read.write_sometimes(loop.time())
            dues = [followed.due for found, followed in self._followed.items() if found not in self._looks]
            dues += [next_search, self._processes_at]
            dues += [loop.time() + _PATIENCE] if self._looks else []
            dues += [self._shown_at + _SHOW_EVERY] if self._live.changed else []
            dues += [self._databases_at] if self._databases else []
            dues += [self._read.due] if self._read.due is not None else []
            await self._sleep(max(0.0, min(dues) - loop.time()))

    async def _take_changes(self, changes: Changes) -> None:
        """Takes notice of what the system says, and of agents' processes that have begun or ended."""
        now = asyncio.get_running_loop().time()
        known: set[str] = set()
        for found, followed in self._followed.items() if changes.paths else ():
            if (path := str(found.path)) in changes.paths:
                followed.touch(now)
                known.add(path)
        new, searched = changes.paths - known, set[str]()
        # A database may have got another conversation.
        if (databases := [path for path in known if path.endswith(DATABASES)]) and not self._databases:
            self._databases_at = max(self._databases_at, now + _VISIBLE)
        self._databases |= dict.fromkeys(databases, now)
        if self._databases and now >= self._databases_at:
            searched = {*self._databases}
            self._databases = {path: at for path, at in self._databases.items() if at > now - _VISIBLE}
        if new or searched:
            self._add(await asyncio.to_thread(self._ports.find, self._since, new | searched))
        if searched:
            ended = asyncio.get_running_loop().time()
            self._databases_at = ended + min((ended - now) / _DATABASES_SHARE, _SEARCH_EVERY)
        if changes.is_own:
            self._drop_deleted()
            self._take_what_agents_say()
        is_begun = changes.is_own and self._ports.compactions() != self._live.compactions
        if new or changes.is_ended or is_begun or now >= self._processes_at:
            await self._know_processes()

    async def _look_at_due(self) -> None:
        """Looks at the files that are due: at all of users' conversations, but of sub-agents' that are not read to
        their end yet at one. There may be hundreds of those, and a user waits for the others. Of the files that are
        read in pieces, the first few are read on."""
        self._end_looks()
        loop, has_read = asyncio.get_running_loop(), False
        behind = sum(self._followed[found].is_behind for found in self._looks if found in self._followed)
        for found, followed in list(self._followed.items()):
            if found in self._looks or followed.due > (now := loop.time()):
                continue
            if self._stays(found, followed, now) or self._resume(found, followed):
                continue
            if (has_read and found.is_side and not followed.is_read) or (followed.is_behind and behind >= _BEHIND):
                continue
            has_read |= found.is_side and not followed.is_read
            behind += followed.is_behind
            look = asyncio.create_task(self._look(found, followed))
            self._looks[found] = look
            await asyncio.wait((look,), timeout=_PATIENCE)
            self._end_looks()
        if not behind:
            await self._keep_one()

    def _end_looks(self) -> None:
        """Raises what a look that has ended has raised. One that takes long continues while others are made."""
        for found, look in list(self._looks.items()):
            if look.done():
                del self._looks[found]
                look.result()

    def _stays(self, found: FoundFile, followed: _Followed, now: float) -> bool:
        """Returns whether a read file with a row is as it was and settled: then it is looked at later."""
        followed.looked = now
        if followed.is_unshown or followed.noted is not (mark := followed.file.mark) or followed.settles(now):
            return False
        if mark is None or followed.is_over(now, self._since) or self._ports.files.has_changed(found.path, mark):
            return False
        followed.is_touched = False
        self._wait(found, followed, now)
        return True

    def _wait(self, found: FoundFile, followed: _Followed, now: float) -> None:
        mark = followed.file.mark
        followed.pause = max(_TOLD_EVERY, 2 * (now - followed.looked))
        if self._ports.watching.covers(found.path) and (mark is None or mark.stat):
            followed.wait_for_word(now, self._since)
        else:
            followed.wait(now)
        if mark is not None and not mark.stat:
            # What was written to a database just now may not show yet.
            followed.due = min(followed.due, now + _LOOK_EVERY)

    async def _keep_one(self) -> None:
        """Keeps the reading of one file for the next process. Called when no user waits for another file."""
        for found, followed in self._followed.items():
            if followed.is_unkept and found not in self._looks:
                followed.is_unkept = False
                await followed.file.keep()
                return

    def _is_stored(self, agent: str, origin_id: str) -> bool:
        key = agent, origin_id
        if key not in self._stored:
            imported = self._workspace.ports.store.imported()
            self._stored[key] = any((one.agent, one.origin_id) == key for one in imported)
        return self._stored[key]

    def _look_at_store(self) -> None:
        """Calls the listener for stored sessions that the process that follows may not show."""
        self._look_at_live_file()
        store, since = self._workspace.ports.store, self._now() - int(self._since * 1000)
        try:
            for info in list_main(store, None, _LISTED):
                if info.updated_at > since and info.session_id not in self._known:
                    conversation = self._workspace.open(info.session_id)
                    if conversation.rules.agent:
                        self._tell(row_of(conversation))
        except (NotFound, StoreError) as error:
            log.info("could not look at the store: %s", error)

    def _look_at_live_file(self) -> None:
        live = self._ports.live.read()
        # What was followed long ago may have ended.
        if live and live.at > self._now() - int(self._since * 1000):
            over = self._known.keys() - {row.session_id for row in live.sessions}
            # Before the others: if a file was written again, its new session replaces the one that has ended.
            self._tell(*(ended(self._known[session_id]) for session_id in over), *reversed(live.sessions))
            for session_id in over:
                if not self._is_kept(session_id):
                    self._tell_deleted(session_id)

    def _is_kept(self, session_id: str) -> bool:
        try:
            self._workspace.ports.store.info(session_id)
        except SessionNotFound:
            return False
        except StoreError as error:
            log.info("could not look at the store: %s", error)
        return True

    def _tell_deleted(self, session_id: str) -> None:
        self._known.pop(session_id, None)
        for listener in tuple(self._workspace.deletion_listeners):
            listener(session_id)

    def _tell(self, *rows: FollowedRow) -> None:
        for row in rows:
            if self._known.get(row.session_id) != row:
                self._known[row.session_id] = row
                self._listener(row)

    def _show(self, now: float) -> None:
        """Writes the live file if a row has changed, unless it was written just now."""
        if not self._live.changed or now < self._shown_at + _SHOW_EVERY:
            return
        self._shown_at = now
        try:
            self._ports.live.write(self._live.snapshot(self._now(), self._ports.process_id))
        except StoreError as error:
            self._live.changed, self._shown_at = True, now + _TRY_AGAIN
            log.info("%s", error)

    def _now(self) -> int:
        return self._workspace.ports.clock.now()

    async def search(self) -> None:
        """Looks for files that have begun to change, and for agents' processes that have begun or ended."""
        self._drop_deleted()
        await asyncio.to_thread(self._ports.watching.arrange)
        self._add(await asyncio.to_thread(self._ports.find, self._since))
        # Where the system told of a file, it may no longer do so: a folder may have become a link to another one.
        for followed in self._followed.values():
            followed.due = min(followed.due, asyncio.get_running_loop().time())
        self._take_what_agents_say()
        await self._know_processes()

    def _add(self, files: Sequence[FoundFile]) -> None:
        now = asyncio.get_running_loop().time()
        for found in files:
            # Before a file has its first record, it may not show that it is a sub-agent's.
            if not any(one in self._followed for one in (found, replace(found, is_side=not found.is_side))):
                self._followed[found] = _Followed(self._open(found), now, is_side=found.is_side)

    def _take_what_agents_say(self) -> None:
        """Shows the conversations again of which an agent has said something else to its status line."""
        workspace, now = self._workspace, asyncio.get_running_loop().time()
        for followed in self._followed.values():
            conversation = followed.file.conversation
            origin = conversation.transcript.origin if conversation and conversation.is_open else None
            if conversation is None or origin is None:
                continue
            said = workspace.told_window(origin.origin_id), workspace.rate_limits(origin.origin_id)
            if said != followed.said:
                followed.said = said
                if not conversation.is_held_back:
                    publish_usage(conversation)
                followed.show_again(now)
                self._told.set()

    async def _know_processes(self) -> None:
        watching, processes = self._ports.watching, await asyncio.to_thread(self._ports.processes)
        self._tell(*self._live.know(processes, self._ports.compactions(), self._now()))
        running = [process_id for process_id in processes.values() if process_id is not None]
        are_told = watching.is_complete and all([watching.tells_end_of(process_id) for process_id in running])
        pause = self._live.until_over(self._now()) if are_told else _PROCESSES_EVERY
        self._processes_at = asyncio.get_running_loop().time() + pause

    def _drop_deleted(self) -> None:
        """Ends following files whose sessions were deleted. `find` finds them again when they change."""
        store = self._workspace.ports.store
        try:
            version, is_whole = store.version(), True
            for found, followed in list(self._followed.items()):
                conversation = followed.file.conversation
                is_as_before = conversation is None or (conversation.is_open and version == self._store_version)
                if conversation is None or is_as_before:
                    continue
                if found in self._looks:
                    is_whole = False
                    continue
                try:
                    store.info(conversation.id)
                except SessionNotFound:
                    del self._followed[found]
                    rows = self._live.drop(found)
                    self._tell(*(row for row in rows if row.session_id != conversation.id))
                    self._read.take(found)
                    self._tell_deleted(conversation.id)
            # What is being looked at now is asked about the next time.
            self._store_version = version if is_whole else -1
        except StoreError as error:
            log.info("could not look at the store: %s", error)

    def _open_sessions(self, file: FollowedFile) -> set[str] | None:
        """Returns the sessions that are open before a file is first read, None if it was read before."""
        return None if file.conversation else {conversation.id for conversation in self._workspace.conversations}

    def _note_opened(self, file: FollowedFile, open_before: set[str] | None) -> None:
        if open_before is not None and file.conversation is not None and file.conversation.id not in open_before:
            self._opened.add(file.conversation.id)

    def _open(self, found: FoundFile) -> FollowedFile:
        return FollowedFile(self._workspace, self._ports.files, found, self._ports.readings)

    async def _look(self, found: FoundFile, followed: _Followed) -> None:
        loop, file = asyncio.get_running_loop(), followed.file
        before, was_told = file.mark, followed.is_touched
        followed.is_touched = False
        # What was complete long before it was found need not wait.
        quiet = min(self._ports.files.quiet_for(found.path), _QUIET) if before is None else 0.0
        open_before = self._open_sessions(file)
        try:
            seen = await file.look()
            self._note_opened(file, open_before)
            followed.is_read |= not seen.more
            followed.is_behind = seen.more
            # A reader that holds back what was written has added nothing to the session.
            if seen.written:
                if before is not None and followed.settled and not was_told and self._was_silent(found):
                    log.info("The system has not said that %s has changed: all files are looked at", found.path)
                    self._ports.watching.distrust()
                followed.changed, followed.settled, followed.is_unshown = loop.time() - quiet, 0.0, True
            if not seen.more and (silence := followed.settles(loop.time())):
                await file.settle(silence)
                followed.settled, followed.is_unshown = silence, True
            if not seen.more:
                file.publish()
            conversation = file.conversation
            if conversation and followed.is_unshown and loop.time() >= followed.shown_again:
                await self._show_row(found, followed, conversation)
        except (InputError, NotFound, StoreError) as error:
            log.info("%s is not followed now: %s", found.path, error)
            # What could not be stored is stored later, even if the file stays as it is.
            followed.settled, followed.is_behind, followed.is_unshown = 0.0, False, True
            followed.wait(loop.time())
            return
        now = loop.time()
        # A sub-agent's file is kept with its parent's, or in a pass over all files.
        if self._keeper and conversation and not found.is_side and seen.written:
            self._keeper.changed(found, conversation.rules.agent, conversation.id, quiet)
        if seen.more:
            followed.due = now
            return
        if seen.missing or followed.is_over(now, self._since):
            self._end(found)
            return
        self._note(found, followed)
        await self._rest(found, followed)
        self._wait(found, followed, now)

    def _end(self, found: FoundFile) -> None:
        """Ends following a file. A conversation that is open for this alone is closed: in a day there are many."""
        followed = self._followed.pop(found, None)
        self._tell(*self._live.drop(found))
        conversation = followed and followed.file.conversation
        if conversation is not None and conversation.id in self._opened:
            self._opened.discard(conversation.id)
            self._known.pop(conversation.id, None)
            self._workspace.drop(conversation.id)

    def _was_silent(self, found: FoundFile) -> bool:
        """Returns whether the system should have said by now that a file has changed."""
        return self._ports.watching.covers(found.path) and self._ports.files.quiet_for(found.path) > _SETTLES[0]

    async def _show_row(self, found: FoundFile, followed: _Followed, conversation: Conversation) -> None:
        """Shows the row of a conversation, as it is if its file ends here."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        followed.is_unshown = False
        if followed.is_behind:
            size = self._ports.files.size(found.path)
            if followed.seen_size == size:
                return
            followed.seen_size = size
        ahead = await followed.file.look_ahead()
        followed.shown_again = loop.time() + (loop.time() - begun) / _AHEAD_SHARE
        if ahead is None and followed.is_behind:
            return
        followed.is_ahead = ahead is not None
        self._tell(*self._live.take(found, conversation, self._now(), ahead))

    def _note(self, found: FoundFile, followed: _Followed) -> None:
        """Notes that a file was read to its end, once it is quiet and its session has all of it."""
        if not followed.settled or followed.is_ahead or followed.noted is followed.file.mark:
            return
        # What can't be noted, such as a file without a message, is not looked at again before it changes, either.
        followed.noted = followed.file.mark
        if read := followed.file.as_read():
            self._read.note(found, read)
            followed.is_unkept = True

    async def _rest(self, found: FoundFile, followed: _Followed) -> None:
        """Drops what has read a file, about as large as the file, if that was quiet for minutes. If the file grows
        again, it is taken up as a later process does it."""
        if followed.settled < ENDED or (read := followed.file.as_read()) is None:
            return
        try:
            await followed.file.keep()
            file = self._open(found)
            if file.resume(read):
                followed.file, followed.noted, followed.is_unkept = file, file.mark, False
        except StoreError as error:
            log.info("what has read %s stays in memory: %s", found.path, error)

    def _resume(self, found: FoundFile, followed: _Followed) -> bool:
        """Shows a conversation whose file is as an earlier process read it. Returns False if it must be read."""
        known = self._read.take(found) if followed.file.mark is None else None
        if known is None:
            return False
        open_before = self._open_sessions(followed.file)
        try:
            if not followed.file.resume(known):
                return False
        except StoreError as error:
            log.info("%s is read again: %s", found.path, error)
            return False
        self._note_opened(followed.file, open_before)
        conversation = followed.file.conversation
        assert conversation is not None
        now = asyncio.get_running_loop().time()
        quiet = self._ports.files.quiet_for(found.path)
        followed.changed, followed.settled = now - quiet, quiet
        followed.is_read = True
        followed.noted = followed.file.mark
        self._read.note(found, known)
        if self._keeper and not found.is_side:
            self._keeper.changed(found, conversation.rules.agent, conversation.id, quiet)
        self._tell(*self._live.take(found, conversation, self._now()))
        self._wait(found, followed, now)
        return True
