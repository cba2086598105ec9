"""What is followed now, as rows: one for each conversation, what has changed in them, and following itself in one
process; and rows made from what the agents' files end with.

The figure of such a row is that of the last report, if nothing that counts follows it. Otherwise the conversation is
projected, which takes ten times as long, or what follows is estimated by its length. What the window and the threshold
are computed from is computed once for each model, version and folder."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from math import inf
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from ullage import __version__
from ullage.agents.agent import first_prompt
from ullage.agents.discovery import is_in, kept_path
from ullage.agents.inserted import typed_texts
from ullage.agents.table import agent_of_format, compact_command, short_name
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.finished_work import may_end
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
    ConversationImported,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    RecordUnread,
    SessionCreated,
    ToolsDeclared,
    UsageReported,
)
from ullage.model.json_values import encode_json
from ullage.model.message import ImageBlock, Message, ResourceBlock, Role, ToolResultBlock
from ullage.model.usage import FollowedRow, LiveSessions, Nearness, R, UsageSource
from ullage.model.usage_report import is_doubtful
from ullage.model.words import percent
from ullage.policy.budget import calls_left, passed
from ullage.policy.evidence import RECENT_CALLS, Evidence
from ullage.policy.prompt_cache import CachedPrompt, idle_compaction, prompt_cache
from ullage.service.conversation.conversation import Conversation, read_entries
from ullage.service.conversation.environment import Rules, rules_of
from ullage.service.conversation.projection import BYTES_OF_IMAGE, text_size
from ullage.service.conversation.usage import LONG, nearness_of, publish_usage, tokens_left, usage_meta, usage_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import FoundFile, ReadToldWindow
from ullage.service.ports.models import FollowingListener, KeepingQuestion
from ullage.service.sessions import ends_with_newest, is_last_doubtful, last_model, project_transcript
from ullage.tokens.families import bare_name
from ullage.tokens.images import count_pages
from ullage.transcript.fold import Transcript, project

# Milliseconds without a change after which a conversation has ended, if its agent doesn't say whether it runs. A model
# may take minutes for an answer, and a tool that it calls may take as long.
QUIET = 900_000
# Milliseconds that a compaction may take. A model writes the summary of a long conversation in a few minutes.
_COMPACTS_FOR = 300_000


def row_of(conversation: Conversation) -> FollowedRow:
    """Returns the row of an imported or followed conversation by its session: not live, without a process."""
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


def row_of_file(conversation: Conversation, ahead: Conversation | None) -> FollowedRow:
    """Returns the row of an agent's file by its session, and by what `FollowedFile.look_ahead` says if the session has
    not exactly what is in the file."""
    row, facts = row_of(ahead or conversation), conversation.transcript
    if ahead is None or ahead.id:
        return row
    # The end of the file is newer than what was taken out of it.
    at = max(row.updated_at, facts.newest_timestamp)
    return replace(row, session_id=conversation.id, title=facts.title, cwd=facts.cwd, messages=None, updated_at=at)


def of_agent(row: R, agent: str) -> R:
    """Returns the row with what is known of its agent."""
    command, takes_focus = compact_command(agent)
    return replace(row, agent=agent, agent_short=short_name(agent), compact_command=command, takes_focus=takes_focus)


def ended(row: FollowedRow) -> FollowedRow:
    """Returns the row of a conversation that does not continue: its file is gone, or nothing is written to it."""
    return replace(row, live=False, process_id=None, idle=None, moment=None, nearness=None, forks=())


def is_recent(changed: int, now: int) -> bool:
    """Returns whether a conversation that has last changed then, in Unix milliseconds, may still run. One that has
    changed in the future was written by a clock that was wrong."""
    return abs(now - changed) < QUIET


def is_compacting(began: int, written: int, now: int) -> bool:
    """Returns whether a compaction that `began` then (0: none did) may still run. What its agent writes next, it writes
    when the compaction has ended or failed."""
    return written <= began and now - began <= _COMPACTS_FOR


class Families:
    """Which conversations share a name, directly or through others: forks, and runs in another file."""

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
        # When its agent has last written a message, a report or an edit.
        self._written: dict[FoundFile, int] = {}
        self._processes: Mapping[tuple[str, str], int | None] = {}
        # What was known last of compactions that have begun (`FindCompactions`).
        self.compactions: Mapping[str, int] = {}
        # Conversations whose agent has named their process.
        self._registered: set[tuple[str, str]] = set()

    def take(
        self, found: FoundFile, conversation: Conversation, now: int, ahead: Conversation | None = None
    ) -> list[FollowedRow]:
        """Makes the row of a followed file from its conversation. Returns the rows that have changed by that: its own,
        and those that name it among their forks. `ahead` is what `FollowedFile.look_ahead` says of a file if the
        session lacks a part of it."""
        row = row_of_file(conversation, ahead)
        if not row.agent:
            row = of_agent(row, found.agent)
        row = replace(
            row,
            agent_session_id=row.agent_session_id or found.origin_id,
            path=str(found.path),
        )
        self._nearness[found] = nearness_of(ahead or conversation)
        edits = (ahead or conversation).transcript.edits
        self._written[found] = max([row.updated_at, *(edit.timestamp for edit in edits)])
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
        self._written.pop(found, None)
        shown = self._shown.pop(found, None)
        return [*([ended(shown)] if shown else []), *self._show(self._family_of(found))]

    def know(
        self, processes: Mapping[tuple[str, str], int | None], compactions: Mapping[str, int], now: int
    ) -> list[FollowedRow]:
        """Takes what agents say of their processes and of compactions. Returns the rows that have changed."""
        self._processes, self.compactions = processes, compactions
        self._registered.update(processes)
        return self._keep({found: self._placed(found, row, now) for found, row in self._rows.items()})

    def until_over(self, now: int) -> float:
        """Returns the seconds until a conversation, or its compaction, is over because nothing was written; `inf` if
        none will."""
        lively = (row for row in self._rows.values() if row.live and row.process_id is None)
        ends = [row.updated_at + QUIET for row in lively]
        ends += [end for at in self.compactions.values() if (end := at + _COMPACTS_FOR) >= now]
        return min(((end - now + 1) / 1000 for end in ends), default=inf)

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
        recent = not keys & self._registered and is_recent(row.updated_at, now)
        live = process_id is not None or recent
        began = max(self.compactions.get(origin_id, 0) for _, origin_id in keys)
        nearness = self._nearness[found] if live else None
        if live and is_compacting(began, self._written[found], now):
            nearness = Nearness.COMPACTING
        return replace(row, process_id=process_id, live=live, nearness=nearness)

    def _keep(self, rows: Mapping[FoundFile, FollowedRow]) -> list[FollowedRow]:
        changed = {found: row for found, row in rows.items() if self._rows.get(found) != row}
        self._rows |= changed
        return self._show({one: None for found in changed for one in self._family_of(found)})

    def _family_of(self, found: FoundFile) -> list[FoundFile]:
        """Returns the followed files that begin as this one, which is among them if it is followed."""
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
        shown = _once(one for one in family if one.live) or family[:1]
        if row not in shown:
            return None
        if row is not shown[0]:
            return row
        forks = {one.agent_session_id for one in family} | {self._forked_from.get(one.session_id, "") for one in shown}
        return replace(row, forks=tuple(sorted(forks - {one.agent_session_id for one in shown} - {""})))


def _once(rows: Iterable[FollowedRow]) -> list[FollowedRow]:
    """Returns each of a family's conversations once, by its agent's id. When Gemini CLI resumes one, it writes its own
    first message to another file, and continues the earlier one: a file with one message stands for no other."""
    once: dict[str, FollowedRow] = {}
    for row in rows:
        name = row.agent_session_id or row.session_id
        if name not in once or once[name].messages == 1 < (row.messages or 0):
            once[name] = row
    return [*once.values()]


log = logging.getLogger(__name__)
# Seconds for which changes are collected before they are sent, so that many conversations that change at once are one
# message. Short against the quarter of a second after which a user sees a delay.
_COLLECTED_FOR = 0.02
# Above so many rows, ended conversations go, the first changed first: a process may run for weeks.
_MOST = 1_000
Run = Callable[[Callable[[FollowedRow], object]], Coroutine[Any, Any, None]]
ReadNewest = Callable[[str], Coroutine[Any, Any, FollowedRow | None]]


class AnswersOnKeeping(Protocol):
    """The user's answer to whether agents' files are kept, as in `FollowsAgents`. Both functions may use files."""

    def question(self) -> KeepingQuestion | None: ...

    def answer(self, *, keep: bool) -> None: ...


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
        workspace.deletion_listeners.append(self._drop)

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
            self._drop(other.session_id)
        self._changed[row.session_id] = row
        self._show(row)
        self._tell_soon()

    def _drop(self, session_id: str) -> None:
        """Lists a session no longer that was deleted, or that another one stands for."""
        if session_id not in self._rows:
            return
        self._changed.pop(session_id, None)
        self._release(session_id)
        self._gone.append(session_id)
        self._tell_soon()

    def _tell_soon(self) -> None:
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
    """Returns whether a row is of another's file or conversation with another session: it was written again."""
    place = kept_path(row.path, row.agent_session_id)
    is_same = place == kept_path(other.path, other.agent_session_id) != ""
    return is_same and row.session_id != other.session_id


def _stands_for(row: FollowedRow, other: FollowedRow) -> bool:
    """Returns whether a row is shown in another's place: it has started that one, or is its fork's origin."""
    if row.agent != other.agent:
        return False
    return row.agent_session_id == other.parent != "" or other.agent_session_id in row.forks


def _log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("Following has ended", exc_info=error)


# Who writes a conversation, its model, the window and the threshold that the agent names, and the basis.
_Setup = tuple[ConversationImported | None, str, int | None, int | None, bytes]
# Characters of JSON for a token, about.
_CHARACTERS = 4


class CatalogueRows:
    """Makes rows. `told` is as `told_window` of the workspace; it is asked for thousands of conversations. `told_model`
    returns of which model that is the window, "" if it is not known."""

    def __init__(self, workspace: Workspace, told: ReadToldWindow, told_model: Callable[[str], str]) -> None:
        self._workspace = workspace
        self._told, self._told_model = told, told_model
        self._bases: dict[tuple[str, str, str, str], bytes] = {}
        self._rules: dict[_Setup, tuple[Transcript, Rules]] = {}

    def basis(self, agent: str, format_name: str, cwd: str, model: str, origin_id: str) -> bytes:
        """Returns what `KnownConversation.basis` is now."""
        basis, told = self._basis(agent, format_name, cwd, model), self._told(origin_id)
        return basis if told is None else basis + msgspec.msgpack.encode(told)

    def _basis(self, agent: str, format_name: str, cwd: str, model: str) -> bytes:
        key = agent, format_name, cwd, model
        if key not in self._bases:
            given = self._workspace.given(agent_of_format(format_name, agent), cwd, model)
            others = self._workspace.compactions(format_name)
            self._bases[key] = sha256(
                msgspec.msgpack.encode((__version__, given, others, self._workspace.settings.limits))
            ).digest()[:8]
        return self._bases[key]

    def row(
        self,
        transcript: ImportedTranscript,
        *,
        is_whole: bool,
        counts: bool = False,
        begun: Sequence[Event] = (),
        least: int = 0,
    ) -> FollowedRow | None:
        """Returns the row of a conversation, or None if the figure does not show in this part of its file.

        A part is enough if it has a report that is no placeholder, and after that no edit of the context; or, with
        `begun`, what the file begins with, a compaction. What follows is then estimated by its length. It is counted in
        a whole file with `counts`. `least` is the size of what precedes the report and is not in the transcript, in
        bytes. Blocks: a server asks in a thread. Raises `UllageError`."""
        evidence = _evidence_of(transcript)
        told = self._told(transcript.session_id) if transcript.session_id else None
        if told and told.at >= evidence.model_since:
            evidence = replace(evidence, said=told.size)
        last, later, is_edited = _last_report(transcript.events)
        is_left = is_edited or is_last_doubtful(transcript.events, least)
        used = (last.usage.total if last else 0) + later // _CHARACTERS
        said = (event.message for event in reversed(transcript.events) if isinstance(event, MessageAppended))
        newest = next(said, None)
        # Only a fold of all messages says whether this is the end of a piece of work.
        may_end_work = used >= LONG and newest is not None and may_end(newest)
        if not (is_whole or begun) and (last is None or is_left or not ends_with_newest(transcript.events)):
            return None
        if not is_whole and told and last and told.at < last.timestamp and self._is_of_another(transcript):
            # Whether that model answered since shows only the whole file: a gateway may have other names.
            return None
        if is_whole and counts and (later or last is None or is_left or may_end_work):
            projecting = project_transcript(self._workspace, transcript, counts=is_edited or may_end_work)
            return self._named(row_of(_finished(projecting)), transcript)
        if is_left:
            used = _left_by_length(transcript.events, begun or transcript.events)
        if transcript.events and isinstance(said_last := transcript.events[-1], ContextEstimated):
            used, is_left = said_last.tokens, True
        rules = self._rules_of(transcript, evidence)
        window = rules.budget.window if rules.budget else None
        left = None if window is None else tokens_left(used, rules, rules.keeper)
        # In a part of a file, the last calls are as many as are looked at, or it is not known how many there were.
        are_known = left is not None and (is_whole or len(evidence.growths) >= RECENT_CALLS)
        calls = calls_left(left, evidence.growths) if left is not None and are_known else None
        limits = passed(rules.under.limits, rules.agent, transcript.cwd, used, None)
        cached = _cached(transcript.events, is_whole=is_whole)
        row = FollowedRow(
            session_id="",
            agent=rules.agent,
            model=rules.model,
            used=used,
            # By length alone, not by a count.
            used_source=UsageSource.ESTIMATED if later or is_left or last is None else UsageSource.REPORTED,
            percent=percent(used, window) if window else None,
            window=window,
            window_source=rules.window.source if rules.window else None,
            compacts_at=rules.threshold.tokens if rules.threshold else None,
            compacts_at_source=rules.threshold.source if rules.threshold else None,
            calls_left=(calls.low, calls.high) if calls else None,
            idle=idle_compaction(rules.idle, cached, used, cached.at or None, newest),
            cache=prompt_cache(cached, used, partial(self._workspace.cost, rules.model)),
            rate_limits=evidence.rate_limits,
            warnings=tuple(remark.text for remark in (*rules.remarks, *limits)),
            updated_at=max(map(_time, transcript.events), default=0),
        )
        return self._named(of_agent(row, rules.agent), transcript)

    def _is_of_another(self, transcript: ImportedTranscript) -> bool:
        """Returns whether the agent said the window of another model than that of the conversation now."""
        said, now = bare_name(self._told_model(transcript.session_id)), bare_name(last_model(transcript))
        return said not in now and now not in said

    def _rules_of(self, transcript: ImportedTranscript, evidence: Evidence) -> Rules:
        origin = next((one for one in reversed(transcript.events) if isinstance(one, ConversationImported)), None)
        model = last_model(transcript)
        # The same for all conversations with this agent's version, where its settings are alike.
        origin = origin and replace(origin, origin_id="", parent_id="", path="")
        said = Evidence(said=evidence.said, compacts_at=evidence.compacts_at)
        key = (
            origin,
            model,
            said.said,
            said.compacts_at,
            self._basis(transcript.agent, transcript.format, transcript.cwd, model),
        )
        if key not in self._rules:
            created = SessionCreated(cwd=transcript.cwd, model=model)
            facts = Transcript()
            for record in self._workspace.records(0, (created, origin) if origin else (created,)):
                facts.apply(record)
            self._rules[key] = facts, rules_of(self._workspace, facts, said)
        facts, rules = self._rules[key]
        return rules if rules.hold(evidence) else rules_of(self._workspace, facts, evidence)

    def _named(self, row: FollowedRow, transcript: ImportedTranscript) -> FollowedRow:
        return replace(
            row,
            agent_session_id=transcript.session_id,
            title=transcript.title or _said_first(transcript.events),
            cwd=transcript.cwd,
            parent=transcript.parent if transcript.is_sub_agent else "",
        )


def _finished(projecting: Coroutine[Any, Any, Conversation]) -> Conversation:
    """Returns the conversation, projected in a loop of its own: a command may ask in a coroutine."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(projecting)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, projecting).result()


def ends_with_edit(transcript: ImportedTranscript) -> bool:
    """Returns whether an edit follows the last report: only the whole conversation then says its figure."""
    return _last_report(transcript.events)[2]


def ends_with_compaction(transcript: ImportedTranscript) -> bool:
    """Returns whether the last edit is a compaction by the agent, which hides what was said before."""
    edits = (event.edit for event in reversed(transcript.events) if isinstance(event, ContextEdited))
    last = next(edits, None)
    return isinstance(last, CompactionEdit) and last.by_agent and not last.kept


def _last_report(events: Sequence[Event]) -> tuple[UsageReported | None, int, bool]:
    """Returns the last report of a prompt's size, the number of characters that count after it, and whether an edit of
    the context follows it."""
    later, is_edited = 0, False
    for event in reversed(events):
        match event:
            case UsageReported() if event.usage.prompt:
                return event, later, is_edited
            case ContextEdited() | EditReverted():
                is_edited = True
            case RecordUnread():
                later += 1
            case MessageAppended(message=message):
                later += _length(message)
            case ToolsDeclared(tools=tools):
                later += 1 + len(encode_json(tools))
            case _:
                pass
    return None, later, is_edited


def _left_by_length(events: Sequence[Event], begun: Sequence[Event]) -> int:
    """Estimates the tokens of the context after these events by the length of its messages, and by what the agent adds
    to them, according to the reports in `begun`, which a file begins with."""
    hidden, transcript = list[int](), Transcript()
    # Bytes of text in the context, and characters of its JSON.
    size, length = 0, 0
    for at, event in enumerate(begun):
        transcript.apply(Record(position=at, timestamp=0, event=event))
        match event:
            case MessageAppended(message=message):
                size, length = size + text_size(message), length + _length(message)
            case ContextEdited() | EditReverted():
                size, length = sum(map(text_size, transcript.view)), sum(map(_length, transcript.view))
            case UsageReported() if not is_doubtful(event.usage.prompt, size):
                hidden.append(event.usage.total - length // _CHARACTERS)
            case _:
                pass
    return max(0, min(hidden, default=0)) + sum(map(_length, project(events))) // _CHARACTERS


def _length(message: Message) -> int:
    """Returns the length of a message as JSON, in bytes. A picture, and a page of a document, is as long as a text with
    as many tokens."""
    length = 1 + len(encode_json(message.content))
    for block in message.content:
        for part in block.content if isinstance(block, ToolResultBlock) else (block,):
            if isinstance(part, ImageBlock | ResourceBlock) and part.data:
                is_document = isinstance(part, ResourceBlock) and part.is_document
                pages = count_pages(part.data) if is_document else isinstance(part, ImageBlock)
                length += pages * BYTES_OF_IMAGE - len(part.data)
    return length


def _cached(events: Sequence[Event], *, is_whole: bool) -> CachedPrompt:
    """Returns what the provider's cache holds. In a part of a file the pauses are not known, so that only what the
    provider promises counts, and not why a prompt was not found."""
    cached = CachedPrompt()
    for event in events:
        cached = cached.after(event, _time(event) if isinstance(event, UsageReported) else 0)
    if is_whole:
        return cached
    return replace(cached, miss=None) if cached.writes else CachedPrompt()


def _evidence_of(transcript: ImportedTranscript) -> Evidence:
    evidence, model, version = Evidence(), transcript.model, ""
    for event in transcript.events:
        match event:
            case MessageAppended():
                continue
            case ModelChanged():
                model = event.model
            case ConversationImported():
                version = event.version
            case _:
                pass
        evidence = evidence.after(event, model, version)
    return evidence


def _said_first(events: Sequence[Event]) -> str:
    """Returns the first line that the user typed."""
    messages = (event.message for event in events if isinstance(event, MessageAppended))
    said = (one for one in messages if one.role is Role.USER and not one.compaction)
    return first_prompt(text for message in said for text in typed_texts(message))


def _time(event: Event) -> int:
    match event:
        case MessageAppended(message=message):
            return message.timestamp
        case UsageReported():
            return event.timestamp
        case ContextEdited(edit=edit):
            return edit.timestamp
        case _:
            return 0
