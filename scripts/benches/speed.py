"""Measures what a session's length costs an append, and fitting a session of 160,000 tokens to a quarter, beside a
floor of the same run.

The session that is fitted is the longest of the recorded ones, cut to size. Its floor is the cheapest way, first
message and tail, which gets its counts beforehand, as Ullage does. The cost of a summary depends on whether its
messages were read before, as they are from half of the compaction threshold on, in the background. The counter knows
the entries of summaries from earlier runs.
"""

import asyncio
import functools
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benches.report import Part, Report, at_most, compared, median, recorded, report_of, seconds
from support.workspace import CountingIds, FixedClock, build_test_workspace
from ullage.app.compose import open_workspace
from ullage.edits.counted import CountedView
from ullage.edits.drop import Keep, TokenBudgetStrategy, plan_drop
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message, Role, TextBlock
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.compact.by_hand import fit_budget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.write import conversation_key
from ullage.summary.reader import Reader, go_on
from ullage.tokens.counter import get_counter
from ullage.transcript.view import groups

SHORT, LONG = 100, 50_000
APPENDS, APPEND_AIM = 400, 1.5
MODEL = "bench-model"
# The fitted session's tokens, the share of them that is left, and how often each way is measured.
TOKENS, SHARE, _RUNS = 160_000, 4, 9
# The ratio of a fit without a summary, and milliseconds with an offline one: of messages that are read for the first
# time, and read before.
FIT_AIM, ANEW_AIM, AHEAD_AIM = 10.0, 60.0, 15.0
_FITTED_MODEL = "gpt-4o"
_REMEMBERS = type(functools.lru_cache(get_counter))


def run(paths: Sequence[Path]) -> Report:
    """Measures appends to a short and a long session, and fitting."""
    transcripts = [transcript for _, transcript in recorded(paths)]
    return report_of("speed", [asyncio.run(measure_appends()), measure_fitting(transcripts)])


async def measure_appends() -> Part:
    """Returns the median time of an append with its new total, in turn for both sessions, so that load slows both
    equally. No window is so small that anything would be compacted automatically."""
    settings = Settings(context=ContextSettings(enabled=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workspace(Path(folder) / "bench.db", settings) as workspace,
    ):
        short, long = [await _session(workspace, messages) for messages in (SHORT, LONG)]
        gc.collect()
        times: dict[str, list[float]] = {short.id: [], long.id: []}
        for number in range(APPENDS):
            for session, at in ((short, LONG + 2 * number), (long, LONG + 2 * number + 1)):
                (message,) = made_up(at, at + 1)
                began = time.perf_counter()
                await sessions.append(session, [message], None)
                assert session.used > 0
                times[session.id].append(time.perf_counter() - began)
    what = f"append to {LONG:,} messages, floor: to {SHORT}"
    return compared(what, median(times[short.id]), median(times[long.id]), APPEND_AIM)


async def _session(workspace: Workspace, messages: int) -> Conversation:
    session = sessions.new_session(workspace, SessionCreated(model=MODEL))
    for start in range(0, messages, 1_000):
        await sessions.append(session, made_up(start, min(start + 1_000, messages)), None)
    return session


# Fitting


def measure_fitting(transcripts: Sequence[ImportedTranscript]) -> Part:
    """Measures dropping whole messages, and compacting with an offline summary of messages read for the first time
    and read ahead."""
    messages = _session_messages(transcripts)
    workspace, session = _open(messages)
    view = session.projection.counted_view()
    budget = view.used // SHARE
    floor = min(seconds(lambda: first_and_tail(view, budget)) for _ in range(_RUNS))
    stamp = workspace.new_stamp()
    keep = Keep(first_user_id=session.transcript.first_user_id)
    dropping = min(seconds(lambda: plan_drop(view, TokenBudgetStrategy(), budget, keep, stamp)) for _ in range(_RUNS))
    anew = min(_compact(messages, budget, is_read=False) for _ in range(_RUNS))
    ahead = min(_compact(messages, budget, is_read=True) for _ in range(_RUNS))
    what = f"fit {view.used:,} tokens in {len(messages):,} messages to a quarter, floor: first + tail"
    names = [f"{what}; {how}" for how in ("oldest messages go", "with an offline summary", "of a history read before")]
    rows = [compared(name, floor, ours)[0][0] for name, ours in zip(names, (dropping, anew, ahead), strict=True)]
    aims = [
        at_most(f"{names[0]}: ratio", dropping / floor, FIT_AIM),
        at_most(f"{names[1]}: ms", 1000 * anew, ANEW_AIM),
        at_most(f"{names[2]}: ms", 1000 * ahead, AHEAD_AIM),
    ]
    return rows, aims


def made_up(start: int, stop: int) -> list[Message]:
    """Returns messages of about 90 tokens with these numbers, the user's and the assistant's in turn. Each text
    differs, so that no count comes from a cache."""
    return [
        Message(
            id=f"m{number}",
            role=Role.ASSISTANT if number % 2 else Role.USER,
            content=(
                TextBlock(
                    text="\n".join(
                        f"step {number}.{line}: read src/module_{(number * 31 + line) % 997}.py and note its exports"
                        for line in range(5)
                    )
                ),
            ),
            timestamp=1,
        )
        for number in range(start, stop)
    ]


def first_and_tail(view: CountedView, budget: int) -> list[Message]:
    """Returns the floor's context: the first message and as many whole groups from the end as fit."""
    messages, tokens = view.messages, view.tokens
    left, start = budget - view.fixed - tokens[0], len(messages)
    for group in reversed(groups(messages)[1:]):
        left -= sum(tokens[i] for i in group)
        if left < 0:
            break
        start = group.start
    return [messages[0], *messages[start:]]


def _compact(messages: Sequence[Message], budget: int, *, is_read: bool) -> float:
    """Returns the seconds of one `fit_budget` on a fresh session that is counted already, whose messages were read
    ahead, or in a process that has read nothing before."""
    workspace, session = _open(messages)
    workspace.reader = Reader()
    _forget()
    if is_read:
        folder = session.transcript.cwd
        workspace.reader.go_on(conversation_key(session), messages, range(len(messages)), cwd=folder, check=go_on)
    return seconds(lambda: asyncio.run(fit_budget(session, budget)))


def _forget() -> None:
    """Empties what remembers texts that were read. What a process makes once, such as its patterns, stays."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("ullage."):
            for remembers in vars(module).values():
                clear = getattr(remembers, "cache_clear", None)
                if clear and not (isinstance(remembers, _REMEMBERS) and not remembers.cache_parameters()["maxsize"]):
                    clear()


def _open(messages: Sequence[Message]) -> tuple[Workspace, Conversation]:
    workspace = build_test_workspace(FixedClock(), CountingIds())
    events = [SessionCreated(model=_FITTED_MODEL), *(MessageAppended(message=message) for message in messages)]
    return workspace, workspace.adopt("s", events)


def _session_messages(transcripts: Sequence[ImportedTranscript]) -> list[Message]:
    """Returns the first 160,000 tokens of the longest transcript, or made-up messages if no transcript is so long."""
    for transcript in sorted(transcripts, key=lambda each: len(each.events), reverse=True):
        events = (event for event in transcript.events if isinstance(event, MessageAppended))
        messages = _cut([event.message for event in events])
        if messages:
            return messages
    return _cut(made_up(0, TOKENS // 50))


def _cut(messages: Sequence[Message]) -> list[Message]:
    counter = get_counter(_FITTED_MODEL)
    total = 0
    for place, message in enumerate(messages):
        total += counter.count_message(message)
        if total >= TOKENS:
            return list(messages[: place + 1])
    return []
