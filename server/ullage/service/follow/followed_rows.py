"""Following in one process: the rows of the followed conversations, and what has changed in them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from ullage.agents.discovery import is_in, kept_path
from ullage.model.usage import FollowedRow
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import publish_usage, usage_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.world import FollowingListener, KeepingQuestion

log = logging.getLogger(__name__)
# Seconds for which changes are collected before they are sent, so that many conversations that change at once are one
# message. Short against the quarter of a second after which a user sees a delay.
_COLLECTED_FOR = 0.02
# Rows above which those of conversations that have ended go, the first changed first: a process may run for weeks.
_MOST = 1_000
Run = Callable[[Callable[[FollowedRow], object]], Coroutine[Any, Any, None]]
ReadNewest = Callable[[str], Coroutine[Any, Any, FollowedRow | None]]


class AnswersOnKeeping(Protocol):
    """The user's answer to whether agents' files are kept. Both functions may read or write files."""

    def question(self) -> KeepingQuestion | None:
        """Returns what the user is to be asked; None once that was answered, or if the settings turn keeping off."""
        ...

    def answer(self, *, keep: bool) -> None:
        """Notes the answer. Raises `StoreUnavailable`."""
        ...


class Following:
    """Follows agents' conversations while it is on, and says so in the workspace.

    `run` follows until it is cancelled, and calls its argument with each row that is new or has changed. `read_newest`
    reads the newest conversation of a folder, which may not have changed for long, and returns its row; None if there
    is none.
    """

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        read_newest: ReadNewest,
        listener: FollowingListener,
        keeping: AnswersOnKeeping,
    ) -> None:
        self._workspace = workspace
        self._keeping = keeping
        self._run = run
        self._read_newest = read_newest
        self._listener = listener
        self._task: asyncio.Task[None] | None = None
        self._changed: dict[str, FollowedRow] = {}
        self._gone: list[str] = []
        # The folders whose conversations alone are listed; empty if all are.
        self._only: Sequence[str] = ()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_on(self) -> bool:
        return self._task is not None

    @property
    def rows(self) -> tuple[FollowedRow, ...]:
        return tuple(sorted(filter(self._is_listed, self._rows.values()), key=lambda row: -row.updated_at))

    async def start(self, folders: Sequence[str], *, only: bool = False) -> None:
        self._only = folders if only else ()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(self.take))
            self._task.add_done_callback(_log_failure)
        for folder in folders:
            row = await self._read_newest(folder)
            # Following may have been stopped meanwhile.
            if row is not None and self.is_on and row.session_id not in self._rows:
                self.take(row)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for session_id in tuple(self._rows):
            self._release(session_id)
        self._changed, self._gone = {}, []

    async def asks_to_keep(self) -> KeepingQuestion | None:
        return await asyncio.to_thread(self._keeping.question)

    async def keep(self, *, wanted: bool) -> None:
        await asyncio.to_thread(self._keeping.answer, keep=wanted)

    def take(self, row: FollowedRow) -> None:
        """Takes a row that is new or has changed."""
        if self._rows.get(row.session_id) == row:
            return
        # The file was written again with other messages, so its session is another one; or the conversation that has
        # started a sub-agent is there now, and is shown in its place.
        over = [one for one in self._rows.values() if replaces(row, one) or _starts(row, one)]
        if row.session_id not in self._rows and len(self._rows) >= _MOST:
            over += sorted((one for one in self._rows.values() if not one.live), key=lambda one: one.updated_at)[:1]
        for other in over:
            self._changed.pop(other.session_id, None)
            self._release(other.session_id)
            self._gone.append(other.session_id)
        self._changed[row.session_id] = row
        self._show(row)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_COLLECTED_FOR, self._tell)

    def _tell(self) -> None:
        rows, gone = tuple(filter(self._is_listed, self._changed.values())), tuple(self._gone)
        self._timer, self._changed, self._gone = None, {}, []
        if rows or gone:
            self._listener.following_changed(rows, gone)

    def _is_listed(self, row: FollowedRow) -> bool:
        return not self._only or any(is_in(row.cwd, folder) for folder in self._only)

    @property
    def _rows(self) -> dict[str, FollowedRow]:
        return self._workspace.followed

    def _show(self, row: FollowedRow) -> None:
        """Has the figures of an open session be those of its row, and publishes them if they have changed by that."""
        conversation = self._open(row.session_id)
        shown = conversation and usage_update(conversation)
        self._rows[row.session_id] = row
        if conversation is not None:
            conversation.figures = None
            if usage_update(conversation) != shown:
                publish_usage(conversation)

    def _release(self, session_id: str) -> None:
        self._rows.pop(session_id, None)
        if conversation := self._open(session_id):
            conversation.figures = None

    def _open(self, session_id: str) -> Conversation | None:
        return next((one for one in self._workspace.conversations if one.id == session_id), None)


def replaces(row: FollowedRow, other: FollowedRow) -> bool:
    """Returns whether a row is of the same file as another, or of the same conversation in a database, with another
    session: the file was written again."""
    place = kept_path(row.path, row.agent_session_id)
    is_same = place == kept_path(other.path, other.agent_session_id) != ""
    return is_same and row.session_id != other.session_id


def _starts(row: FollowedRow, other: FollowedRow) -> bool:
    """Returns whether a row is of the conversation that has started another one, a sub-agent's."""
    return other.parent != "" and (row.agent, row.agent_session_id) == (other.agent, other.parent)


def _log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("Following has ended", exc_info=error)
