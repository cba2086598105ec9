"""What is followed now, as rows: one for each conversation, what has changed in them, and following itself in one
process."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Protocol

from msgspec.structs import replace

from ullage.agents.discovery import is_in, kept_path
from ullage.agents.inserted import typed_texts
from ullage.agents.table import compact_command, short_name
from ullage.model.usage import FollowedRow, LiveSessions, Nearness, R
from ullage.service.conversation.conversation import Conversation, read_entries
from ullage.service.conversation.usage import nearness_of, publish_usage, usage_meta, usage_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import FoundFile
from ullage.service.ports.world import FollowingListener, KeepingQuestion

# Milliseconds without a change after which a conversation has ended, if its agent doesn't say whether it runs. A model
# may take minutes for an answer, and a tool that it calls may take as long.
QUIET = 900_000


def row_of(conversation: Conversation) -> FollowedRow:
    """Returns the row of an imported or followed conversation, as far as its session says it: not live, and without a
    process."""
    meta, transcript, budget = usage_meta(conversation), conversation.transcript, conversation.budget
    origin = transcript.origin
    row = FollowedRow(
        session_id=conversation.id,
        agent=meta.agent,
        agent_session_id=origin.origin_id if origin else "",
        title=transcript.title,
        cwd=transcript.cwd,
        path=origin.path if origin else "",
        parent=origin.parent_id if origin and origin.is_sub_agent else "",
        model=meta.model,
        used=conversation.used,
        used_source=meta.source,
        percent=meta.percent,
        window=budget.window if budget else None,
        window_source=meta.window.source if meta.window else None,
        compacts_at=meta.compact_at,
        compacts_at_source=meta.threshold.source if meta.threshold else None,
        calls_left=(meta.calls_left.low, meta.calls_left.high) if meta.calls_left else None,
        idle=meta.idle,
        cache=meta.cache,
        moment=meta.moment,
        rate_limits=meta.rate_limits,
        messages=meta.messages_active + meta.messages_archived,
        warnings=tuple(remark.text for remark in meta.remarks),
        updated_at=meta.as_of or 0,
    )
    return of_agent(row, meta.agent)


def of_agent(row: R, agent: str) -> R:
    """Returns the row with what is known of its agent."""
    command, takes_focus = compact_command(agent)
    return replace(row, agent=agent, agent_short=short_name(agent), compact_command=command, takes_focus=takes_focus)


def ended(row: FollowedRow) -> FollowedRow:
    """Returns the row of a conversation that does not continue: its file is gone, or nothing is written to it."""
    return replace(row, live=False, process_id=None, idle=None, moment=None, nearness=None, forks=())


class Families:
    """Which conversations have a name in common, at first hand or by others: forks, and runs that were resumed in
    another file."""

    def __init__(self) -> None:
        self._above: dict[Hashable, Hashable] = {}

    def add(self, one: Hashable, names: Iterable[Hashable]) -> None:
        """Adds a conversation, or names that it has besides those that it had."""
        for name in names:
            self._above[self.of(one)] = self.of(name)

    def of(self, one: Hashable) -> Hashable:
        """Returns what is the same for all of a family."""
        while (higher := self._above.setdefault(one, one)) != one:
            one = higher
        return one


class LiveRows:
    """The rows of the files that are followed. Times are Unix milliseconds.

    A sub-agent's conversation has no row while its parent is there, because a user looks at the agent that started it:
    it is not what the user talks to, and there may be dozens of them. The parent is there if it is followed, or if
    `is_stored` says, of an agent and its own id of a conversation, that the store has it. Nor has one a row whose agent
    does not say which conversation started it. Of conversations with the same beginning, those have a row that are live
    or, if none is, the last changed one; the others are named among its forks.

    `changed` is true if a row differs from what `snapshot` returned last.
    """

    def __init__(self, is_stored: Callable[[str, str], bool]) -> None:
        self.changed = True
        self._is_stored = is_stored
        self._rows: dict[FoundFile, FollowedRow] = {}
        # Those that were shown last.
        self._shown: dict[FoundFile, FollowedRow] = {}
        self._families = Families()
        # The conversations that each one's was a fork of, by its session.
        self._forked_from: dict[str, str] = {}
        # How near each one's compaction is, if it continues.
        self._nearness: dict[FoundFile, Nearness | None] = {}
        self._processes: Mapping[tuple[str, str], int | None] = {}
        # Conversations whose agent has named their process.
        self._registered: set[tuple[str, str]] = set()

    def take(
        self, found: FoundFile, conversation: Conversation, now: int, ahead: Conversation | None = None
    ) -> list[FollowedRow]:
        """Makes the row of a followed file from its conversation. Returns the rows that have changed by that: its own,
        and those that name it among their forks. `ahead` is what `FollowedFile.look_ahead` says of a file if the
        session lacks a part of it."""
        row = row_of(ahead or conversation)
        if ahead is not None and not ahead.id:
            facts = conversation.transcript
            row = replace(row, session_id=conversation.id, title=facts.title, cwd=facts.cwd, messages=None)
        if not row.agent:
            row = of_agent(row, found.agent)
        row = replace(
            row,
            agent_session_id=row.agent_session_id or found.origin_id,
            path=str(found.path),
        )
        self._nearness[found] = nearness_of(ahead or conversation)
        if not (found.is_side or row.parent) and conversation.id not in self._forked_from:
            self._relate(found, row, conversation)
        return self._keep({found: self._placed(found, row, now)})

    def _relate(self, found: FoundFile, row: FollowedRow, conversation: Conversation) -> None:
        origin = conversation.transcript.origin
        self._forked_from[conversation.id] = forked_from = origin.parent_id if origin else ""
        names: list[Hashable] = [(row.agent, name) for name in (row.agent_session_id, forked_from) if name]
        if (first := read_entries(conversation, 0, 1)) and (at := first[0].message.timestamp):
            names.append((found.path.parent, at, "".join(typed_texts(first[0].message))))
        self._families.add(found, names)

    def drop(self, found: FoundFile) -> list[FollowedRow]:
        """Forgets a file that is no longer followed. Returns the rows that have changed by that: its own, which has
        ended, if it had one, and one that it had in common with forks."""
        if self._rows.pop(found, None) is None:
            return []
        self.changed = True
        self._nearness.pop(found, None)
        shown = self._shown.pop(found, None)
        return [*([ended(shown)] if shown else []), *self._show(self._family_of(found))]

    def know(self, processes: Mapping[tuple[str, str], int | None], now: int) -> list[FollowedRow]:
        """Takes what agents say of their processes. Returns the rows that have changed."""
        self._processes = processes
        self._registered.update(processes)
        return self._keep({found: self._placed(found, row, now) for found, row in self._rows.items()})

    def until_quiet(self, now: int) -> float:
        """Returns the seconds until a conversation has ended because nothing was written for long; `inf` if none
        will."""
        lively = (row for row in self._rows.values() if row.live and row.process_id is None)
        return min(((row.updated_at + QUIET - now + 1) / 1000 for row in lively), default=inf)

    def snapshot(self, now: int, follower: int) -> LiveSessions:
        """Returns all rows, the last changed first, one for each session. `follower` is the id of this process."""
        # What started a sub-agent may have come or gone.
        self._show([found for found, row in self._rows.items() if row.parent])
        self.changed = False
        ordered = sorted(self._shown.values(), key=lambda row: row.updated_at)
        # An agent may have several files of one conversation. The newest row is the last.
        sessions = {row.session_id: row for row in ordered}
        newest = sorted(sessions.values(), key=lambda row: -row.updated_at)
        return LiveSessions(at=now, follower=follower, sessions=tuple(newest))

    def _placed(self, found: FoundFile, row: FollowedRow, now: int) -> FollowedRow:
        # A fork may repeat its parent's id in its records; a name need not contain the id.
        keys = {(row.agent, row.agent_session_id), (found.agent, found.origin_id)}
        process_id = next((known for key in keys if (known := self._processes.get(key)) is not None), None)
        recent = not keys & self._registered and now - row.updated_at < QUIET
        live = process_id is not None or recent
        return replace(row, process_id=process_id, live=live, nearness=self._nearness[found] if live else None)

    def _keep(self, rows: Mapping[FoundFile, FollowedRow]) -> list[FollowedRow]:
        changed = {found: row for found, row in rows.items() if self._rows.get(found) != row}
        self._rows |= changed
        return self._show({one: None for found in changed for one in self._family_of(found)})

    def _family_of(self, found: FoundFile) -> list[FoundFile]:
        """Returns the followed files that have the same beginning as this one, which is among them if it is
        followed."""
        family = self._families.of(found)
        return [one for one in self._rows if self._families.of(one) == family]

    def _show(self, files: Iterable[FoundFile]) -> list[FollowedRow]:
        """Returns the rows of these files that differ from those that were shown last."""
        changed: list[FollowedRow] = []
        for found in files:
            row = self._listed(found)
            if row == self._shown.get(found):
                continue
            self.changed = True
            if row is None:
                del self._shown[found]
            else:
                self._shown[found] = row
                changed.append(row)
        return changed

    def _listed(self, found: FoundFile) -> FollowedRow | None:
        """Returns the row of a file with its forks; None if it has none because another row is there."""
        row = self._rows[found]
        if row.parent:
            followed = any((row.agent, row.parent) == (one.agent, one.agent_session_id) for one in self._rows.values())
            return None if followed or self._is_stored(row.agent, row.parent) else row
        if found.is_side:
            return None
        family = sorted((self._rows[one] for one in self._family_of(found)), key=lambda one: -one.updated_at)
        shown = [one for one in family if one.live] or family[:1]
        if row not in shown:
            return None
        if row is not shown[0]:
            return row
        forks = {one.agent_session_id for one in family} | {self._forked_from.get(one.session_id, "") for one in shown}
        return replace(row, forks=tuple(sorted(forks - {one.agent_session_id for one in shown} - {""})))


log = logging.getLogger(__name__)
# Seconds for which changes are collected before they are sent, so that many conversations that change at once are one
# message. Short against the quarter of a second after which a user sees a delay.
_COLLECTED_FOR = 0.02
# Above so many rows, ended conversations go, the first changed first: a process may run for weeks.
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
        if self._rows.get(row.session_id) == row or any(_stands_for(one, row) for one in self._rows.values()):
            return
        # The file was written again with other messages, so its session is another one; or the row stands for it.
        over = [one for one in self._rows.values() if replaces(row, one) or _stands_for(row, one)]
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
        """Gives an open session the figures of its row, and publishes them if they have changed."""
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


def _stands_for(row: FollowedRow, other: FollowedRow) -> bool:
    """Returns whether a row is shown in the place of another one: it is of the conversation that has started that one,
    a sub-agent's, or names it as its fork."""
    if row.agent != other.agent:
        return False
    return row.agent_session_id == other.parent != "" or other.agent_session_id in row.forks


def _log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("Following has ended", exc_info=error)
