"""A random session to make room in: its log, its view with counts, and the size to reach."""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

from msgspec import Struct

from support.build import append, log
from support.random_histories import random_history, random_pins
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView, Stamp
from ullage.model.events import ContextEdited, Edit, Event, MessagePinned
from ullage.model.message import ArtifactLedger, FileAction, FileArtifact, Message
from ullage.model.settings import ContextSettings
from ullage.service.plan import CHEAP, TRUNCATIONS, Rung, Terms, climb
from ullage.tokens.counter import get_counter
from ullage.transcript.fold import Transcript, fold

COUNTER = get_counter("gpt-4o")
# Random histories are so short that the default limit of an older result would never be met.
RESULT_TOKENS = 60
_SUMMARIES = (
    Summary(text="They talked.", ledger=ArtifactLedger(), summarizer="test"),
    Summary(
        text="## Task\n\nMake the tests pass.\n" * 4,
        ledger=ArtifactLedger(files=(FileArtifact(path="src/app.py", action=FileAction.MODIFIED),)),
        summarizer="test",
    ),
)


class Situation(Struct, frozen=True, kw_only=True):
    """The input of a case. `messages` are all messages of the history. `limit` is in tokens of the whole context."""

    events: tuple[Event, ...]
    transcript: Transcript
    view: CountedView
    messages: tuple[Message, ...]
    pinned: tuple[str, ...]
    limit: int
    summary: Summary

    @property
    def terms(self) -> Terms:
        """Returns the terms on which rungs make room, with stamps numbered from 1."""
        numbers = count(1)
        return Terms(
            limit=self.limit,
            usable=self.limit,
            settings=ContextSettings(keep_thinking_turns=1, clear_tool_inputs=True),
            transcript=self.transcript,
            new_stamp=lambda: Stamp(id=f"e{next(numbers)}", timestamp=1_000),
            relied=frozenset(self.transcript.relied),
            result_tokens=RESULT_TOKENS,
        )


def random_situation(seed: int, number: int) -> Situation:
    """Returns the situation of that number: a history with pins and, in half of the situations, with earlier edits."""
    rng = random.Random(f"{seed}:{number}")
    messages = random_history(rng)
    pinned = random_pins(rng, messages)
    events: list[Event] = [MessagePinned(message_id=message_id) for message_id in pinned]
    assess = partial(_assess, rng, messages, pinned, rng.choice((0, 50, 400)))
    start = 0
    for stop in _stops(rng, messages):
        events += append(*messages[start:stop])
        start = stop
        events += (ContextEdited(edit=edit) for edit in _earlier(rng, assess(events), stop))
    events += append(*messages[start:])
    return assess(events)


def count_view(transcript: Transcript, fixed: int) -> CountedView:
    """Returns the view with the counts of a real counter."""
    items = tuple(transcript.items)
    tokens = [COUNTER.count_message(item.message) for item in items]
    return CountedView(items=items, tokens=tokens, fixed=fixed, measure=COUNTER.count_message)


def plan_with_summary(situation: Situation, stamp: Stamp) -> tuple[Edit, ...]:
    """Plans a compaction to the limit with the situation's summary. Returns no edit if that summary is longer than
    allowed."""
    view, transcript = situation.view, situation.transcript
    limits = CompactionLimits(target=situation.limit, keep_tail=situation.limit // 2)
    plan = plan_compaction(view, limits, transcript.pinned, transcript.first_user_id)
    if plan is None:
        return ()
    edit = finish_compaction(plan, view, stamp, situation.summary, transcript.compactions + 1)
    # A real summarizer keeps its summary within the tokens that the plan gives.
    return (edit,) if view.measure(edit.marker) <= plan.summary_tokens else ()


def _assess(
    rng: random.Random, messages: tuple[Message, ...], pinned: tuple[str, ...], fixed: int, events: Sequence[Event]
) -> Situation:
    transcript = fold(log(events))
    view = count_view(transcript, fixed)
    share = rng.choice((rng.random() * 0.2, rng.random(), rng.random()))
    return Situation(
        events=tuple(events),
        transcript=transcript,
        view=view,
        messages=messages,
        pinned=pinned,
        limit=int(view.used * share),
        summary=rng.choice(_SUMMARIES),
    )


def _stops(rng: random.Random, messages: Sequence[Message]) -> list[int]:
    """Returns the places of earlier edits: anywhere, also in the middle of a tool loop."""
    many = rng.choice((0, 0, 1, 2))
    return sorted(rng.sample(range(1, len(messages)), min(many, len(messages) - 1))) if len(messages) > 1 else []


def _earlier(rng: random.Random, situation: Situation, stop: int) -> Iterator[Edit]:
    if rng.random() < 0.5:
        yield from plan_with_summary(situation, Stamp(id=f"earlier{stop}", timestamp=500))
        return
    rungs: Sequence[Rung] = rng.choice((CHEAP, TRUNCATIONS))
    numbers = count(1)
    terms = Terms(
        limit=situation.limit,
        usable=situation.limit,
        settings=ContextSettings(),
        transcript=situation.transcript,
        new_stamp=lambda: Stamp(id=f"earlier{stop}-{next(numbers)}", timestamp=500),
        relied=frozenset(situation.transcript.relied),
        result_tokens=RESULT_TOKENS,
    )
    yield from (edit for _, edit in climb(rungs, situation.view, terms))
