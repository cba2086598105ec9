"""Which conversation a server belongs to, and that conversation up to date.

Some agents name the conversation in each request. Else an agent starts the server, so the agent is one of the server's
parents: if the agent says which of its processes has which conversation, that is the conversation now, also after the
user has begun or resumed another one in the same process. Else the agent may have given its id of the conversation in
the environment. Else it is the conversation of the working folder that changed last.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.discovery import Found, Wanted
from ullage.agents.table import AGENTS
from ullage.mcp.looking_up import Asked
from ullage.model.errors import ConcurrentAppend, InputError, NotFound, SessionNotFound
from ullage.model.usage import FollowedRow
from ullage.service.archive.naming import find_session, list_found, list_main
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.follow.rows import row_of_file
from ullage.service.ports.agent_files import FindProcesses, FoundFile, TranscriptFiles

log = logging.getLogger(__name__)


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a server can learn of the conversation that it belongs to.

    - `environment`: the environment variables. `folder`: the working folder.
    - `parents`: the ids of the processes that have started it, this process first.
    - `session`: the session that the user has named, its id or the beginning of it or the agent's own id; "" if none.
    - `processes`: finds the processes of agents that say which conversations they have.
    - `followed`: returns what a running process follows now into the same store.
    - `files`: reads agents' files.
    """

    environment: Mapping[str, str]
    folder: Path
    parents: Sequence[int]
    session: str
    processes: FindProcesses
    followed: Callable[[], Sequence[FollowedRow]]
    files: TranscriptFiles


class OwnSession:
    """The conversation that a server belongs to."""

    def __init__(self, workspace: Workspace, surroundings: Surroundings) -> None:
        self._workspace = workspace
        self._around = surroundings
        self._files: dict[tuple[str, str], FollowedFile] = {}

    @property
    def folder(self) -> str:
        """The folder that the agent works in, as far as the surroundings say it."""
        named = self._variable(lambda agent: agent.folder_variable)
        return named if named and Path(named).is_absolute() else str(self._around.folder)

    async def read(self, meta: Mapping[str, Any]) -> Asked:
        """Returns the conversation, with all that its agent has written so far. `meta` is what the agent says about
        the request that asks. Raises `NotFound` if there is none, `InputError` if its file can't be read, and
        `StoreError`."""
        name = (
            self._around.session
            or next((name for agent in AGENTS if (name := agent.session_in_request(meta))), "")
            or self._named_by_process()
        )
        for row in self._around.followed():
            if name and name in (row.session_id, row.agent_session_id):
                return self._current(row.session_id)
        if self._is_proxied(name):
            return self._current(name)
        if found := await self._find(name):
            return await self._read_file(found)
        session_id = self._stored(name)
        if session_id is None:
            what = f"the conversation {name[:80]!r}" if name else f"a conversation of the folder {self.folder}"
            raise NotFound(
                f"Ullage does not know {what}. It may have no message yet. Else the user can name it: "
                "`ullage mcp --session ID`, with an id that `ullage` or `ullage --stored` lists"
            )
        return self._current(session_id)

    def _named_by_process(self) -> str:
        at = {process: origin for (_, origin), process in self._around.processes().items() if process is not None}
        running = next((at[process] for process in self._around.parents if process in at), "")
        return running or self._variable(lambda agent: agent.session_variable)

    def _variable(self, name_of: Callable[[Agent], str]) -> str:
        names = filter(None, map(name_of, AGENTS))
        return next((value for name in names if (value := self._around.environment.get(name, "").strip())), "")

    def _is_proxied(self, name: str) -> bool:
        """Returns whether the proxy records this session. After a handover, the agent's files have only a part."""
        try:
            return bool(name) and self._workspace.open(name).transcript.agent is not None
        except SessionNotFound:
            return False

    async def _find(self, name: str) -> Found | None:
        """Returns the conversation among agents' files; without a name, that of the folder that changed last."""
        wanted = Wanted(limit=1, folder=self.folder, alone=not name, origin=name)
        listing = await list_found(self._workspace, wanted)
        if not listing.conversations:
            return None
        newest = listing.conversations[0].found
        stored = () if name else list_main(self._workspace.ports.store, self.folder, 1)
        for one in stored:
            if one.updated_at > newest.updated_at and not self._is_of(newest, one.session_id):
                return None
        return newest

    def _is_of(self, found: Found, session_id: str) -> bool:
        """Returns whether the session was read from the file. Then their times say nothing: a file's can be some
        milliseconds before its last write."""
        file = self._files.get((found.path, found.origin_id))
        return file is not None and file.conversation is not None and file.conversation.id == session_id

    def _stored(self, name: str) -> str | None:
        """Returns the stored session of this id, or that its agent calls so; without a name, the folder's newest."""
        store = self._workspace.ports.store
        if not name:
            return next((info.session_id for info in list_main(store, self.folder, 1)), None)
        imported = next((one.session_id for one in store.imported() if one.origin_id == name), None)
        if imported is None:
            try:
                return find_session(store, name)
            except SessionNotFound as error:
                log.info("%s", error)
        return imported

    async def _read_file(self, found: Found) -> Asked:
        key = found.path, found.origin_id
        if (file := self._files.get(key)) is None:
            wanted = FoundFile(path=Path(found.path), run=found.run, agent=found.agent, origin_id=found.origin_id)
            file = self._files[key] = FollowedFile(self._workspace, self._around.files, wanted)
        try:
            await file.read_all()
        except ConcurrentAppend as error:
            # Another process has read the same records at the same moment.
            log.info("%s", error)
            del self._files[key]
        if file.conversation is None:
            raise InputError(f"{found.path} holds no message yet; call again after the next one")
        current = self._current(file.conversation.id)
        # The answer that calls the tool may not be complete, and so not be in the session.
        if ahead := await file.look_ahead():
            self._workspace.followed[current.own.id] = replace(row_of_file(current.own, ahead), path=found.path)
        else:
            self._workspace.followed.pop(current.own.id, None)
        return current

    def _current(self, session_id: str) -> Asked:
        conversation = self._workspace.open(session_id)
        conversation.catch_up()
        return Asked(own=conversation, folder=self.folder, workspace=self._workspace)
