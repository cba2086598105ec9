"""What is followed now, as rows: one for each conversation, and what has changed in them."""

from collections.abc import Callable, Mapping
from math import inf

from msgspec.structs import replace

from ullage.agents.table import compact_command, short_name
from ullage.model.usage import FollowedRow, LiveSessions, Nearness, R
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import nearness_of, usage_meta
from ullage.service.ports.agent_files import FoundFile

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
    return replace(row, live=False, process_id=None, idle=None, moment=None, nearness=None)


class LiveRows:
    """The rows of the files that are followed. Times are Unix milliseconds.

    A sub-agent's conversation has no row while its parent is there, because a user looks at the agent that started it:
    it is not what the user talks to, and there may be dozens of them. The parent is there if it is followed, or if
    `is_stored` says, of an agent and its own id of a conversation, that the store has it. Nor has one a row whose agent
    does not say which conversation started it.

    `changed` is true if a row differs from what `snapshot` returned last.
    """

    def __init__(self, is_stored: Callable[[str, str], bool]) -> None:
        self.changed = True
        self._is_stored = is_stored
        self._rows: dict[FoundFile, FollowedRow] = {}
        # How near each one's compaction is, if it continues.
        self._nearness: dict[FoundFile, Nearness | None] = {}
        self._processes: Mapping[tuple[str, str], int | None] = {}
        # Conversations whose agent has named their process.
        self._registered: set[tuple[str, str]] = set()

    def take(
        self, found: FoundFile, conversation: Conversation, now: int, ahead: Conversation | None = None
    ) -> FollowedRow | None:
        """Makes the row of a followed file from its conversation. Returns the row, or None if it is as it was. `ahead`
        is what `FollowedFile.look_ahead` says of a file of which the session lacks a part."""
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
        return self._keep(found, self._placed(found, row, now))

    def drop(self, found: FoundFile) -> FollowedRow | None:
        """Forgets a file that is no longer followed. Returns the row that it had."""
        row = self._rows.pop(found, None)
        self.changed |= row is not None
        self._nearness.pop(found, None)
        return row

    def know(self, processes: Mapping[tuple[str, str], int | None], now: int) -> list[FollowedRow]:
        """Takes what agents say of their processes. Returns the rows that have changed."""
        self._processes = processes
        self._registered.update(processes)
        placed = [(found, self._placed(found, row, now)) for found, row in self._rows.items()]
        return [row for found, one in placed if (row := self._keep(found, one))]

    def until_quiet(self, now: int) -> float:
        """Returns the seconds until a conversation has ended because nothing was written for long; `inf` if none
        will."""
        lively = (row for row in self._rows.values() if row.live and row.process_id is None)
        return min(((row.updated_at + QUIET - now + 1) / 1000 for row in lively), default=inf)

    def snapshot(self, now: int, follower: int) -> LiveSessions:
        """Returns all rows, the last changed first, one for each session. `follower` is the id of this process."""
        self.changed = False
        shown = (row for found, row in self._rows.items() if not self._is_left_out(found, row))
        ordered = sorted(shown, key=lambda row: row.updated_at)
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

    def _keep(self, found: FoundFile, row: FollowedRow) -> FollowedRow | None:
        if self._rows.get(found) == row:
            return None
        self._rows[found] = row
        if self._is_left_out(found, row):
            return None
        self.changed = True
        return row

    def _is_left_out(self, found: FoundFile, row: FollowedRow) -> bool:
        if not row.parent:
            return found.is_side
        followed = any((row.agent, row.parent) == (one.agent, one.agent_session_id) for one in self._rows.values())
        return followed or self._is_stored(row.agent, row.parent)
