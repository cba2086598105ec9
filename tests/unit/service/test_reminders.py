"""What is told of a followed conversation by itself: each thing once, and in time."""

from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from support.workspace import START, CountingIds, FixedClock, build_test_workspace
from ullage.model.settings import Limit, Notices, Settings
from ullage.model.usage import FollowedRow, GoodMoment, IdleCompaction
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.reminders import Reminders, due_notices

MINUTE = 60_000
IDLE = IdleCompaction(at=START + 15 * MINUTE, setting='"idleCompaction": false')
MOMENT = GoodMoment(at=START, work="fix: round", tokens=26_000, cost=0.1)
ROW = FollowedRow(
    session_id="s", agent="Claude Code", agent_session_id="own", live=True, used=310_000, updated_at=START
)
LIMIT = "It has passed your own limit of 300,000 tokens."


def due(workspace: Workspace, row: FollowedRow, now: int) -> list[str]:
    found = due_notices(workspace, row, now, lambda at: f"T+{(at - START) // MINUTE}")
    return [one.text for one in found if one.at <= now < one.until]


@pytest.fixture
def workspace() -> Workspace:
    settings = Settings(limits=(Limit(tokens=300_000),), notices=Notices.DESKTOP)
    return build_test_workspace(FixedClock(), CountingIds(), settings=settings)


def test_an_idle_compaction_is_announced_ten_minutes_before_it_and_not_after_it(workspace: Workspace) -> None:
    row = replace(ROW, idle=IDLE, compact_command="/compact")
    text = (
        f"Claude Code compacts by itself at T+15 because it idles ({IDLE.setting} in its settings stops that); "
        "before that: a prompt, /compact, or `ullage continue own`"
    )
    assert [due(workspace, row, START + minute * MINUTE) for minute in (4, 5, 14, 15)] == [[], [text], [text], []]


def test_a_good_moment_is_told_once_the_agent_is_silent_and_not_much_later(workspace: Workspace) -> None:
    row = replace(ROW, moment=MOMENT)
    told = [bool(due(workspace, row, START + seconds * 1_000)) for seconds in (0, 14, 15, 600, 616)]
    assert told == [False, False, True, True, False]
    (text,) = due(workspace, row, START + MINUTE)
    assert text.startswith("a new session begins with 26K in place of 310K")
    assert text.endswith("; `ullage continue own`")


def test_a_limit_of_the_users_own_is_told_and_another_warning_is_not(workspace: Workspace) -> None:
    row = replace(ROW, warnings=("The threshold has changed.", LIMIT))
    assert due(workspace, row, START) == [f"Claude Code: {LIMIT}"]
    assert due(workspace, replace(row, warnings=row.warnings[:1]), START) == []


def test_nothing_is_told_of_a_conversation_that_has_ended(workspace: Workspace) -> None:
    row = replace(ROW, idle=IDLE, moment=MOMENT, warnings=(LIMIT,), live=False)
    assert due(workspace, row, START + 10 * MINUTE) == []


class Ticking(FixedClock):
    """A clock that says the time `time`."""

    def __init__(self) -> None:
        super().__init__()
        self.time = START

    def now(self) -> int:
        return self.time


class Loop:
    """Stands for the event loop: `pass_time` calls what is due by then."""

    def __init__(self, clock: Ticking) -> None:
        self._clock = clock
        self.waiting: list[tuple[float, Callable[[], object]]] = []

    def call_later(self, delay: float, call: Callable[..., object], *arguments: object) -> "Timer":
        entry = self._clock.now() + delay * 1000, partial(call, *arguments)
        self.waiting.append(entry)
        return Timer(self, entry)

    def pass_time(self, milliseconds: int) -> None:
        until = self._clock.now() + milliseconds
        while ready := [entry for entry in self.waiting if entry[0] <= until]:
            self.waiting.remove(ready[0])
            self._clock.time = max(self._clock.time, round(ready[0][0]))
            ready[0][1]()
        self._clock.time = until


class Timer:
    def __init__(self, loop: Loop, entry: tuple[float, Callable[[], object]]) -> None:
        self._loop, self._entry = loop, entry

    def cancel(self) -> None:
        if self._entry in self._loop.waiting:
            self._loop.waiting.remove(self._entry)


def ticking(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> tuple[Reminders, Loop, list[str]]:
    clock, told = Ticking(), list[str]()
    workspace, loop = build_test_workspace(clock, CountingIds(), settings=settings), Loop(clock)
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    known = set[str]()
    reminders = Reminders(workspace, told.append, lambda key: key not in known and not known.add(key), str)
    return reminders, loop, told


def test_each_thing_is_told_once_when_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    reminders, loop, told = ticking(Settings(notices=Notices.DESKTOP), monkeypatch)
    reminders.take(replace(ROW, idle=IDLE, moment=MOMENT))
    assert told == []
    loop.pass_time(MINUTE)
    assert ["fix: round" in text for text in told] == [True]
    reminders.take(replace(ROW, idle=IDLE, moment=MOMENT, messages=9))
    loop.pass_time(10 * MINUTE)
    assert ["because it idles" in text for text in told] == [False, True]
    loop.pass_time(60 * MINUTE)
    assert len(told) == 2


def test_a_prompt_of_the_user_puts_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    reminders, loop, told = ticking(Settings(notices=Notices.DESKTOP), monkeypatch)
    reminders.take(replace(ROW, idle=IDLE, moment=MOMENT))
    loop.pass_time(10_000)
    reminders.take(ROW)
    loop.pass_time(60 * MINUTE)
    assert told == []
    reminders.take(replace(ROW, idle=replace(IDLE, at=START + 200 * MINUTE)))
    reminders.close()
    loop.pass_time(600 * MINUTE)
    assert told == []


@pytest.mark.parametrize("notices", [Notices.ON, Notices.OFF])
def test_without_the_users_word_nothing_is_shown_on_the_desktop(
    notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    reminders, loop, told = ticking(Settings(notices=notices), monkeypatch)
    reminders.take(replace(ROW, idle=IDLE, moment=MOMENT))
    loop.pass_time(60 * MINUTE)
    assert told == []
