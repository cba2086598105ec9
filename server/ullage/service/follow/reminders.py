"""What a user is to be told of a followed conversation before it is too late: that the agent will compact it because it
idles, that it has passed a limit of the user's own, and that now is a good moment to go on in a new session.

`due_notices` says what is to be told and when; `Reminders` tells each thing once, when its time has come.
"""

import asyncio
from collections.abc import Callable, Iterator
from math import inf

from msgspec import Struct

from ullage.model import words
from ullage.model.settings import Notices
from ullage.model.usage import FollowedRow
from ullage.policy.budget import passed
from ullage.service.conversation.workspace import Workspace

# Milliseconds before a compaction because a conversation idles in which it is announced: time enough to come back.
_AHEAD = 600_000
# Milliseconds of silence after an answer: some agents write an answer's text before the calls that follow it.
_QUIET = 15_000
# Characters of an id that name a conversation: a time of an hour is in them.
_SHORT = 8
# Milliseconds after which nobody is told by itself that there was a good moment.
_LATE = 600_000


class DueNotice(Struct, frozen=True, kw_only=True):
    """A text for the user about a conversation, to be told from `at` on and before `until`, both Unix milliseconds.
    Notices with the same `key` are the same one."""

    key: str
    text: str
    at: float
    until: float


def due_notices(workspace: Workspace, row: FollowedRow, now: int, clock: Callable[[int], str]) -> Iterator[DueNotice]:
    """Yields what is to be told of a conversation, now or later; nothing of one that has ended, and nothing of good
    moments while a turn runs. `clock` returns the time of day of a time in Unix milliseconds, and `now` is one."""
    if not row.live:
        return
    name = row.agent_session_id or row.session_id
    anew = f"`ullage continue {name[:_SHORT]}`"
    if row.idle is not None:
        text = f"{row.agent} {words.idles(clock(row.idle.at), row.idle.setting)}"
        instead = filter(None, ("a prompt", row.compact_command))
        text += f"; before that: {', '.join(instead)}, or {anew}"
        yield DueNotice(key=f"idle {name} {row.idle.at}", text=text, at=row.idle.at - _AHEAD, until=row.idle.at)
    # What a conversation has cost is not in its row, but the warning that it has cost too much is.
    limits = passed(workspace.settings.limits, row.agent, row.cwd, row.used or 0, inf)
    for text in (remark.text for remark in limits if remark.text in row.warnings):
        yield DueNotice(key=f"limit {name} {text}", text=f"{row.agent}: {text}", at=0, until=inf)
    if row.moment is not None:
        said = f"{words.good_moment(row.moment, row.used or 0, row.cache, now)}; {anew}"
        at = (row.moment.at or row.updated_at) + _QUIET
        yield DueNotice(key=f"moment {name} {row.moment.at}", text=said, at=at, until=at + _LATE)


class Reminders:
    """Tells the user what is due, each thing once on this machine.

    `tell` shows a text. `is_first` says of a key whether it is the first time that it is asked, for all processes.
    """

    def __init__(
        self,
        workspace: Workspace,
        tell: Callable[[str], object],
        is_first: Callable[[str], bool],
        clock: Callable[[int], str],
    ) -> None:
        self._workspace = workspace
        self._tell = tell
        self._is_first = is_first
        self._clock = clock
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._told: set[str] = set()

    def take(self, row: FollowedRow) -> None:
        """Tells what is due of a new or changed conversation, now and while it stays so. For the event loop."""
        if waiting := self._timers.pop(row.session_id, None):
            waiting.cancel()
        if self._workspace.settings.notices is not Notices.DESKTOP:
            return
        now = self._workspace.ports.clock.now()
        later: list[float] = []
        for one in due_notices(self._workspace, row, now, self._clock):
            if now < one.at:
                later.append(one.at)
            elif now < one.until and one.key not in self._told:
                self._told.add(one.key)
                if self._is_first(one.key):
                    self._tell(one.text)
        if later:
            pause = (min(later) - now) / 1000
            self._timers[row.session_id] = asyncio.get_running_loop().call_later(pause, self.take, row)

    def close(self) -> None:
        """Tells nothing more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
