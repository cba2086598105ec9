"""Measures fitting a session of 160,000 tokens to a quarter, compared with the cheapest way: first message and tail.

The session is the longest of the recorded ones, cut to size. The floor gets its counts beforehand, as Ullage does. The
cost of a summary depends on whether its messages were read before, as they are from half of the compaction threshold
on, in the background. The counter knows the entries of summaries from earlier runs.
"""

import asyncio
import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from ullage.summary.choosing.ahead import read_before
from ullage.summary.reading.anchors import forget_words
from ullage.summary.reading.text_reader import Reader

from benches import speed_sessions
from benches.report import Aim, Report, at_most
from support.workspace import CountingIds, FixedClock, build_test_workspace
from ullage.edits.counted import CountedView
from ullage.edits.strategies.choices import TokenBudgetStrategy
from ullage.edits.strategies.situation import Keep
from ullage.edits.strategies.truncation import plan_drop
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message
from ullage.service.compact.to_budget import fit_budget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.summary.checks import go_on
from ullage.tokens.counter_choice import get_counter
from ullage.transcript.cut_points import groups

TOKENS = 160_000
SHARE = 4
FIT_AIM = 10.0
_RUNS = 9
_MODEL = "gpt-4o"
_REMEMBERS = type(functools.lru_cache(get_counter))


def run(transcripts: Sequence[ImportedTranscript]) -> Report:
    """Measures dropping whole messages, and compacting with an offline summary of messages read for the first time
    and read ahead."""
    messages = _session_messages(transcripts)
    workspace, session = _open(messages)
    view = session.projection.counted_view()
    budget = view.used // SHARE
    floor = _fastest(lambda: first_and_tail(view, budget))
    stamp = workspace.new_stamp()
    keep = Keep(first_user_id=session.transcript.first_user_id)
    dropping = _fastest(lambda: plan_drop(view, TokenBudgetStrategy(), budget, keep, stamp))
    anew = min(_compact_anew(messages, budget) for _ in range(_RUNS))
    ahead = min(_compact(messages, budget, _reader_of(messages)) for _ in range(_RUNS))
    what = f"fit {view.used:,} tokens in {len(messages):,} messages to a quarter"
    found = [
        _compare(f"{what}, floor: first + tail; oldest messages go", floor, dropping),
        _compare(f"{what}, floor: first + tail; with an offline summary", floor, anew),
        _compare(f"{what}, floor: first + tail; with an offline summary of a history read before", floor, ahead),
    ]
    return Report(bench="fitting", rows=[row for row, _ in found], aims=[aim for _, aim in found])


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


def _compact(messages: Sequence[Message], budget: int, reader: Reader) -> float:
    """Returns the seconds of one `fit_budget` on a fresh session that is counted already, read with `reader`."""
    workspace, session = _open(messages)
    workspace.reader = reader
    began = time.perf_counter()
    asyncio.run(_fit(session, budget))
    return time.perf_counter() - began


def _reader_of(messages: Sequence[Message]) -> Reader:
    """Returns a reader that has read the messages ahead."""
    reader = Reader()
    read_before(messages, range(len(messages)), reader, go_on)
    return reader


def _compact_anew(messages: Sequence[Message], budget: int) -> float:
    """Returns the seconds of `_compact` in a process that has read nothing before."""
    _forget()
    return _compact(messages, budget, Reader())


def _forget() -> None:
    """Empties what remembers texts that were read. What a process makes once, such as its patterns, stays."""
    forget_words()
    for name, module in [*sys.modules.items()]:
        if name.startswith("ullage."):
            for remembers in vars(module).values():
                if isinstance(remembers, _REMEMBERS) and remembers.cache_parameters()["maxsize"]:
                    remembers.cache_clear()


async def _fit(session: Conversation, budget: int) -> None:
    await fit_budget(session, budget)


def _open(messages: Sequence[Message]) -> tuple[Workspace, Conversation]:
    workspace = build_test_workspace(FixedClock(), CountingIds())
    events = [SessionCreated(model=_MODEL), *(MessageAppended(message=message) for message in messages)]
    return workspace, workspace.adopt("s", events)


def _session_messages(transcripts: Sequence[ImportedTranscript]) -> list[Message]:
    """Returns the first 160,000 tokens of the longest transcript, or made-up messages if no transcript is so long."""
    for transcript in sorted(transcripts, key=lambda each: len(each.events), reverse=True):
        events = (event for event in transcript.events if isinstance(event, MessageAppended))
        messages = _cut([event.message for event in events])
        if messages:
            return messages
    return _cut(speed_sessions.ours(0, TOKENS // 50))


def _cut(messages: Sequence[Message]) -> list[Message]:
    counter = get_counter(_MODEL)
    total = 0
    for place, message in enumerate(messages):
        total += counter.count_message(message)
        if total >= TOKENS:
            return list(messages[: place + 1])
    return []


def _fastest(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(_RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _compare(what: str, floor: float, ours: float) -> tuple[dict[str, Any], Aim]:
    row = {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
    return row, at_most(f"{what}: ratio", ours / floor, FIT_AIM)
