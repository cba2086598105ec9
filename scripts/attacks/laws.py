"""Checks every kind of edit on random histories: whatever makes room keeps its limit, both providers' rules, tool
pairs, pins and the newest words of the user, and is undone exactly."""

import asyncio
import random
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import count
from multiprocessing import get_context

from msgspec import Struct
from msgspec.structs import replace

from attacks.attack import Ground, Outcome
from support.build import append, log, user
from support.provider_rules import anthropic_violations, openai_violations
from support.random_histories import random_history, random_pins
from support.workspace import LARGE_MODEL, CountingIds, FixedClock, build_test_workspace
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import Keep, make_chain, plan_truncation
from ullage.formats.provider import write_anthropic, write_openai
from ullage.model.errors import CannotFit, UllageError
from ullage.model.events import ContextEdited, Edit, EditReverted, Event, MessagePinned, SessionCreated
from ullage.model.message import (
    ArtifactLedger,
    Block,
    FileAction,
    FileArtifact,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.settings import (
    ContextSettings,
    RangeKeep,
    Selective,
    SlidingWindow,
    Smart,
    StrategySettings,
    TokenBudget,
    TruncateRange,
)
from ullage.service.compact.by_hand import fit_budget
from ullage.service.plan import CHEAP, LAST_RESORT, TRUNCATIONS, Rung, Terms, climb
from ullage.tokens.counter import get_counter
from ullage.transcript.fold import Transcript, fold
from ullage.transcript.view import Item, groups, kept, leading

# Situations

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
        """Returns the terms on which rungs make room."""
        return self.terms_of("e", 1_000, ContextSettings(keep_thinking_turns=1, clear_tool_inputs=True))

    def terms_of(self, name: str, timestamp: int, settings: ContextSettings) -> Terms:
        """Returns terms with stamps of this name and time, numbered from 1."""
        numbers = count(1)
        return Terms(
            limit=self.limit,
            usable=self.limit,
            settings=settings,
            transcript=self.transcript,
            new_stamp=lambda: Stamp(id=f"{name}{next(numbers)}", timestamp=timestamp),
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
    terms = situation.terms_of(f"earlier{stop}-", 500, ContextSettings())
    yield from (edit for _, edit in climb(rungs, situation.view, terms))


# How small a context can be made, from the rules alone

# Tokens: the notice for dropped messages in its longest wording, and the frame of its message.
NOTICE = 40


def of_whole_groups(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped: leading and pinned messages, the newest
    that the user typed, last group, notice."""
    return _sum(situation, _staying(situation), empty=False) + NOTICE


def of_everything_cut(situation: Situation) -> int:
    """Returns the size after every group that may be dropped is dropped, and the remaining blocks are emptied, except
    those of pinned messages and those that the user typed in the newest message."""
    return _sum(situation, _staying(situation), empty=True) + NOTICE


def _sum(situation: Situation, staying: Collection[str], *, empty: bool) -> int:
    view = situation.view
    newest, whole = newest_typed(view.items), _pinned_groups(situation)
    total = view.fixed
    for message in view.messages:
        if message.id in staying:
            is_cut = empty and message.id not in whole
            typed = said(message) if message is newest else ()
            total += view.measure(emptied(message, typed) if is_cut else message)
    return total


def _staying(situation: Situation) -> frozenset[str]:
    messages = situation.view.messages
    if not messages:
        return frozenset()
    transcript = situation.transcript
    last = (messages[i].id for i in groups(messages)[-1])
    system = (message.id for message in messages if message.role is Role.SYSTEM)
    newest = newest_typed(situation.view.items)
    pinned = transcript.pinned | ({newest.id} if newest else set[str]())
    return frozenset({*leading(messages, transcript.first_user_id), *kept(messages, pinned), *system, *last})


def _pinned_groups(situation: Situation) -> frozenset[str]:
    messages, pinned = situation.view.messages, situation.transcript.pinned
    together = (group for group in groups(messages) if any(messages[i].id in pinned for i in group))
    return frozenset(messages[i].id for group in together for i in group)


def newest_typed(items: Sequence[Item]) -> Message | None:
    """Returns the newest message in which the user said something, or showed a picture or a document. Markers and
    notices are inserted, and no user said them."""
    own = (item.message for item in reversed(items) if not item.inserted and not item.message.compaction)
    return next((message for message in own if said(message)), None)


def said(message: Message) -> tuple[Block, ...]:
    """Returns the blocks of a message that are the user's own: none of a tool's message but the words next to its
    results, and none of a message of blanks alone."""
    if message.role is not Role.USER:
        return ()
    own = tuple(block for block in message.content if not isinstance(block, ToolResultBlock))
    words = tuple(block for block in own if isinstance(block, TextBlock) and block.text.strip())
    if len(own) < len(message.content):
        return words
    return own if words or any(not isinstance(block, TextBlock) for block in own) else ()


def emptied(message: Message, typed: Collection[Block] = ()) -> Message:
    """Returns the message with nothing in its blocks but the ids that connect them with others, and with the blocks
    `typed` as they are."""
    return replace(message, content=tuple(block if block in typed else _empty(block) for block in message.content))


def _empty(block: Block) -> Block:
    match block:
        case TextBlock() | ImageBlock():
            return TextBlock(text="" if isinstance(block, TextBlock) and not block.text.strip() else "…")
        case ThinkingBlock():
            return ThinkingBlock(thinking="")
        case ToolUseBlock():
            return replace(block, input={})
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=""),))
        case _:
            return replace(block, text="") if isinstance(block, ResourceBlock) and block.text else block


# Ways of making room


class Case(Struct, frozen=True, kw_only=True):
    """A way of making room. If a case has a `floor`, it must meet every limit that is not below the floor. If it
    `promises`, each edit that it makes must meet the limit. Other cases may stop before the limit is met."""

    name: str
    plan: Callable[[Situation], Sequence[Edit]]
    floor: Callable[[Situation], int] | None = None
    promises: bool = False


def _climb(rungs: Sequence[Rung], situation: Situation) -> Sequence[Edit]:
    return [edit for _, edit in climb(rungs, situation.view, situation.terms)]


def _rung(rung: Rung) -> Case:
    return Case(name=rung.what, plan=partial(_climb, (rung,)), floor=_FLOORS.get(rung.what))


def _chain(*strategies: StrategySettings) -> Case:
    """Returns a case that applies strategies one after the other until no more messages may be dropped."""
    return Case(
        name=", then ".join(map(_named, strategies)),
        plan=partial(_truncate, strategies),
        floor=of_whole_groups,
    )


def _named(strategy: StrategySettings) -> str:
    name = str(strategy.__struct_config__.tag)
    return f"{name} {strategy.keep}" if isinstance(strategy, TruncateRange) else name


def _truncate(strategies: Sequence[StrategySettings], situation: Situation) -> Sequence[Edit]:
    terms = situation.terms
    keep = Keep(
        pinned=frozenset(situation.transcript.pinned),
        first_user_id=situation.transcript.first_user_id,
        relied=terms.relied,
    )
    return plan_truncation(situation.view, make_chain(strategies), situation.limit, keep, terms.new_stamp())


def fit(situation: Situation) -> Sequence[Edit]:
    """Goes the whole way through the service: fits a session in memory into a budget with the offline summary and, if
    that is not enough, with the last rungs. Returns the edits that `fit_budget` records, or none if it refuses."""
    return asyncio.run(_fit(situation))


async def _fit(situation: Situation) -> Sequence[Edit]:
    # Only the situation knows the tokens that are added to the messages.
    budget = situation.limit - situation.view.fixed
    workspace = build_test_workspace(FixedClock(), CountingIds())
    session = workspace.adopt("s", [SessionCreated(model=LARGE_MODEL), *situation.events])
    began = session.transcript.position
    try:
        await fit_budget(session, budget)
    except CannotFit:
        return ()
    records = workspace.ports.store.read("s", began + 1)
    return [record.event.edit for record in records if isinstance(record.event, ContextEdited)]


_FLOORS = {"older messages": of_whole_groups}

CASES: tuple[Case, ...] = (
    *map(_rung, (*CHEAP, *TRUNCATIONS)),
    *(_chain(strategy()) for strategy in (SlidingWindow, TokenBudget, Selective, Smart)),
    *(_chain(TruncateRange(keep=keep)) for keep in RangeKeep),
    _chain(Selective(), TruncateRange(), SlidingWindow(max_messages=6)),
    Case(name="all cheap edits", plan=partial(_climb, CHEAP)),
    Case(
        name="all that is left without a summary",
        plan=partial(_climb, (*TRUNCATIONS, LAST_RESORT)),
        floor=of_everything_cut,
    ),
    Case(
        name="compaction",
        plan=lambda situation: plan_with_summary(situation, Stamp(id="e1", timestamp=1_000)),
        promises=True,
    ),
    Case(name="fitting a budget, offline", plan=fit, floor=of_everything_cut),
)


# Laws, judged from outside, without the code that planned the edits


class Verdict(StrEnum):
    """The result of a case in a situation. All verdicts except those in `LAWFUL` break a law."""

    EDITED = "edited"
    NOTHING = "nothing to do"
    CANNOT_FIT = "cannot fit"
    OVER = "over budget"
    MISCOUNTED = "miscounted"
    ANTHROPIC = "Anthropic"
    OPENAI = "OpenAI"
    PARTED = "parted pair"
    UNPINNED = "pin lost"
    REWORDED = "pin or newest question changed"
    UNDO = "undo not exact"
    RAISED = "raised"


LAWFUL = frozenset({Verdict.EDITED, Verdict.NOTHING, Verdict.CANNOT_FIT})


def judge(situation: Situation, case: Case) -> set[Verdict]:
    """Returns one lawful verdict, or all laws that are broken."""
    edits = case.plan(situation)
    after = situation.view
    for edit in edits:
        after = after.after(edit)
    broken = set(_broken(situation, case, edits, after))
    if broken:
        return broken
    if case.floor is not None and after.used > situation.limit:
        return {Verdict.CANNOT_FIT}
    return {Verdict.EDITED if edits else Verdict.NOTHING}


def _broken(situation: Situation, case: Case, edits: Sequence[Edit], after: CountedView) -> Iterator[Verdict]:
    if _over(situation, case, edits, after.used):
        yield Verdict.OVER
    if not edits:
        return
    if after.used != after.fixed + sum(map(after.measure, after.messages)):
        yield Verdict.MISCOUNTED
    if (
        situation.view.used - after.used != sum(edit.tokens_saved for edit in edits)
        or after.used >= situation.view.used
    ):
        yield Verdict.MISCOUNTED
    yield from _invalid(situation.view.messages, after.messages)
    if _parted(situation.view.messages, after.messages):
        yield Verdict.PARTED
    if set(situation.pinned) & _ids(situation.view.messages) - _ids(after.messages):
        yield Verdict.UNPINNED
    if _word_for_word(situation.view, situation.pinned) - _word_for_word(after, situation.pinned):
        yield Verdict.REWORDED
    if not undo_is_exact(situation, edits, after):
        yield Verdict.UNDO


def _over(situation: Situation, case: Case, edits: Sequence[Edit], used: int) -> bool:
    if used <= situation.limit:
        return False
    return bool(case.promises and edits) or (case.floor is not None and situation.limit >= case.floor(situation))


def _invalid(before: Sequence[Message], after: Sequence[Message]) -> Iterator[Verdict]:
    for verdict, messages, check in (
        (Verdict.ANTHROPIC, write_anthropic(after).messages, anthropic_violations),
        (Verdict.OPENAI, write_openai(after).messages, openai_violations),
    ):
        if check(messages):
            yield verdict
    # A request needs a message, so an edit must not remove the last one.
    if write_anthropic(before).messages and not write_anthropic(after).messages:
        yield Verdict.ANTHROPIC


def undo_is_exact(situation: Situation, edits: Sequence[Edit], after: CountedView) -> bool:
    """Whether the folded log has the edits' view, and has the earlier view again after all edits are undone,
    although another message was appended in between."""
    more = append(user("afterwards", "And now?"))
    edited = [*situation.events, *(ContextEdited(edit=edit) for edit in edits)]
    taken_back = [EditReverted(edit_id=edit.id) for edit in reversed(edits)]
    plain = fold(log([*situation.events, *more]))
    reverted = fold(log([*edited, *more, *taken_back]))
    return (
        fold(log(edited)).view == after.messages
        and list(reverted.items) == list(plain.items)
        and reverted.pinned == plain.pinned
        and all(edit.reverted for edit in reverted.edits if edit.id in {each.id for each in edits})
    )


def _parted(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """Whether a tool use has lost its result, or a result its use."""
    left = _ids(after)
    return any((use in left) != (result in left) for use, result in _pairs(before))


def _pairs(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yields the ids of the messages with a tool use and with its result: the first result after it, as providers
    pair them."""
    open_uses: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                open_uses[block.id] = message.id
            elif isinstance(block, ToolResultBlock) and block.tool_use_id in open_uses:
                yield open_uses.pop(block.tool_use_id), message.id


def _word_for_word(view: CountedView, pinned: Collection[str]) -> set[str]:
    """Returns what every request must have: the content of each pinned message, and what the user said last."""
    newest = newest_typed(view.items)
    last = {repr((newest.id, said(newest)))} if newest else set[str]()
    return last | {repr((message.id, message.content)) for message in view.messages if message.id in pinned}


def _ids(messages: Sequence[Message]) -> set[str]:
    return {message.id for message in messages}


# Runs

# Histories per batch: small enough to keep two processes busy to the end, large enough that the handover costs nothing.
_BATCH = 250
_REMEMBERED = 20
# The errors that a mistake in an edit raises. They are counted, and the run continues.
FAULTS = (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, UllageError, ValueError)


def run(seed: int, numbers: range) -> list[tuple[str, Verdict, str]]:
    """Returns for each history and case its verdicts: the case, a verdict, and what was raised."""
    found: list[tuple[str, Verdict, str]] = []
    for number in numbers:
        situation = random_situation(seed, number)
        for case in CASES:
            name = f"history {number}, {case.name}"
            try:
                found += [(name, verdict, "") for verdict in judge(situation, case)]
            except FAULTS:
                found.append((name, Verdict.RAISED, traceback.format_exc(limit=-3)))
    return found


def edit_laws(ground: Ground) -> Outcome:
    """Guards against an edit that breaks a law on random histories: each way of making room on each of them."""
    numbers = ground.numbers(500, 100_000)
    parts = [numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH)]
    counts, faults = Counter[Verdict](), list[str]()
    with get_context("spawn").Pool(2) as pool:
        for found in pool.imap_unordered(partial(run, ground.seed), parts):
            counts.update(verdict for _, verdict, _ in found)
            faults += [f"{name}: {verdict} {why}" for name, verdict, why in found if verdict not in LAWFUL]
    survived = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in sorted(LAWFUL))
    return Outcome(tried=len(numbers) * len(CASES), survived=survived, faults=tuple(faults[:_REMEMBERED]))
