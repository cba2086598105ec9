"""Reads what the store lacks of the agents' conversations on this machine, so that a search finds everything.

The last changed are read first. What is left when the reading is ended is read by the next one.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from itertools import chain
from pathlib import Path

from ullage.agents.machine import Machine
from ullage.app.known_conversations import KnownConversations, StoredCopies, all_candidates, changed_at
from ullage.app.running_now import live_now
from ullage.model.errors import InputError, NotFound, StoreError
from ullage.service.archive.indexing import index_session
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import read_conversation
from ullage.service.ports.agent_files import FoundFile
from ullage.store.sqlite.known_catalogue import KnownConversation
from ullage.store.store_place import StorePlace, is_there, local_path
from ullage.system.growing_files import GrowingFiles
from ullage.system.next_to_store import FileLease
from ullage.watch.finder import this_machine

log = logging.getLogger(__name__)


# The pause after a conversation, as a multiple of the time that its reading took: a fifth of one processor.
_REST = 4.0


class ReadingAll:
    """The conversations of agents on this machine, of which the store at `place` (None: the user's) lacks some. Making
    one looks for them, and blocks. Those that another process follows are left to it. Those of sub-agents are read
    after all others. `machine` is by default this one.

    `total` is the number of conversations, and `left` of those that are still to be read.
    """

    def __init__(self, workspace: Workspace, place: StorePlace | None, machine: Machine | None = None) -> None:
        machine = machine or this_machine(str(Path.cwd()))
        known = sorted(KnownConversations(workspace, place, machine).found, key=changed_at, reverse=True)
        sides = sorted(all_candidates(local_path(place), machine, [], are_side=True), key=lambda one: -one.updated_at)
        live = live_now(place)
        copies, followed = StoredCopies(workspace), {row.path for row in live.sessions} if live else set[str]()
        self._workspace = workspace
        path = local_path(place)
        self._lease = FileLease(path.with_name(f"{path.name}.reader"))
        missing = [
            FoundFile(path=Path(one.path), agent=one.agent, run=one.run, origin_id=one.agent_session_id)
            for one in known
            if _has_messages(one) and copies.of(one) is None
        ]
        missing += [
            FoundFile(path=Path(one.path), agent=one.agent.name, origin_id=one.origin_id, is_side=True)
            for one in sides
            if copies.of_file(one.path, one.updated_at) is None
        ]
        self._missing = [one for one in missing if str(one.path) not in followed]
        # What changes from now on is read by the process that follows.
        self._is_followed, self._looked = live is not None, time.time()
        self.total, self.left = len(known) + len(sides), len(self._missing)

    @staticmethod
    def has_place(place: StorePlace | None) -> bool:
        """Returns whether there is a store at `place`, or a conversation on this machine for which one is made."""
        machine = this_machine(str(Path.cwd()))
        found = (all_candidates(local_path(place), machine, [], are_side=is_side) for is_side in (False, True))
        return is_there(place) or any(chain.from_iterable(found))

    async def read(self) -> AsyncGenerator[str]:
        """Reads what is missing, one conversation after the other, and yields the id of each session, "" if there is
        none. Reads nothing while another process does: two would make two sessions of one conversation. Raises
        `StoreError`."""
        if self._missing and not self._lease.take():
            return
        try:
            for file in self._missing:
                yield await self._read(file)
        finally:
            self._lease.give_up()

    async def _read(self, file: FoundFile) -> str:
        was_open = {conversation.id for conversation in self._workspace.conversations}
        try:
            if self._is_followed and _has_changed_since(file.path, self._looked):
                return ""
            conversation = await read_conversation(self._workspace, GrowingFiles(), file)
        except (InputError, NotFound, OSError) as error:
            log.info("%s is not read: %s", file.path, error)
            conversation = None
        self.left -= 1
        if conversation is None:
            return ""
        if conversation.id not in was_open:
            # Thousands are not kept in memory.
            await self._workspace.end(conversation.id)
        return conversation.id


async def read_in_background(workspace: Workspace, place: StorePlace | None, machine: Machine | None = None) -> None:
    """Reads and indexes all that the store lacks, with pauses. If the store can't be written, that is logged."""
    loop = asyncio.get_running_loop()
    try:
        reading = await asyncio.to_thread(ReadingAll, workspace, place, machine)
        began = loop.time()
        async for session_id in reading.read():
            if session_id:
                await index_session(workspace, session_id, lambda _: None)
            await asyncio.sleep(_REST * (loop.time() - began))
            began = loop.time()
    except StoreError as error:
        log.warning("Could not read older conversations: %s", error)


def _has_changed_since(path: Path, when: float) -> bool:
    return path.stat().st_mtime > when


def _has_messages(one: KnownConversation) -> bool:
    """Returns whether there may be something to be read in a conversation."""
    return one.used is not None or not one.is_whole
