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
from pathlib import Path
from typing import Any

from benches.report import Report, at_most, read_file, transcript_files
from support.workspace import CountingIds, FixedClock, build_test_workspace
from ullage.edits.counted import CountedView
from ullage.edits.drop import Keep, TokenBudgetStrategy, plan_drop
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message, Role, TextBlock
from ullage.service.compact.by_hand import fit_budget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.write import conversation_key
from ullage.summary.reader import Reader, go_on
from ullage.tokens.counter import get_counter
from ullage.transcript.view import groups

TOKENS = 160_000
SHARE = 4
FIT_AIM = 10.0
# Milliseconds of a fit with an offline summary: of messages that are read for the first time, and read before.
ANEW_AIM, AHEAD_AIM = 60.0, 15.0
_RUNS = 9
_MODEL = "gpt-4o"
_REMEMBERS = type(functools.lru_cache(get_counter))


def run(paths: Sequence[Path]) -> Report:
    """Measures what `measure` does, with the transcripts in these files and folders."""
    return measure([read_file(path) for path in transcript_files(paths)])


def measure(transcripts: Sequence[ImportedTranscript]) -> Report:
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
    anew = min(_compact(messages, budget, is_read=False) for _ in range(_RUNS))
    ahead = min(_compact(messages, budget, is_read=True) for _ in range(_RUNS))
    what = f"fit {view.used:,} tokens in {len(messages):,} messages to a quarter, floor: first + tail"
    names = [f"{what}; {how}" for how in ("oldest messages go", "with an offline summary", "of a history read before")]
    rows = [_row(name, floor, ours) for name, ours in zip(names, (dropping, anew, ahead), strict=True)]
    aims = [
        at_most(f"{names[0]}: ratio", dropping / floor, FIT_AIM),
        at_most(f"{names[1]}: ms", 1000 * anew, ANEW_AIM),
        at_most(f"{names[2]}: ms", 1000 * ahead, AHEAD_AIM),
    ]
    return Report(bench="fitting", rows=rows, aims=aims)


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
    began = time.perf_counter()
    asyncio.run(_fit(session, budget))
    return time.perf_counter() - began


def _forget() -> None:
    """Empties what remembers texts that were read. What a process makes once, such as its patterns, stays."""
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
    return _cut(made_up(0, TOKENS // 50))


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


def _row(what: str, floor: float, ours: float) -> dict[str, Any]:
    return {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
