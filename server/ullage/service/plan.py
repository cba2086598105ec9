"""Planning a compaction: its limits, the messages it archives, and the edit made from a plan and a summary.

The ladder: every way of making room, cheapest first. Read the three tables from top to bottom.

`CHEAP` needs no model and is tried from `clearAt` on. A rung is used only if the rungs before it did not reach the
target. All its edits are one batch, because each edit invalidates the provider's prompt cache. `SUMMARIES` are the
tries of a compaction, from `compactAt` on. `TRUNCATIONS` are used if no summary could be written or the summary did not
help; from the middle on only as far as the context must become smaller to fit the window. What is pinned and what the
user typed in the newest message is in every context word for word: no rung has an edit for it.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from functools import partial
from threading import Event
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import typed_blocks
from ullage.edits.clear import ClearOptions, clear_thinking, clear_tool_uses, dedupe_reads
from ullage.edits.compaction import (
    SUMMARY_CAP,
    CompactionLimits,
    CompactionPlan,
    Summary,
    finish_compaction,
    plan_compaction,
)
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import Keep, TruncationStrategy, chain_for, drop_inside, make_chain, plan_truncation
from ullage.edits.shorten import ResultLimits, cap_blocks, shorten, shorten_results
from ullage.model import words
from ullage.model.errors import NothingToCompact
from ullage.model.events import CompactionEdit, DuplicateReadsEdit, Edit, EditTrigger, ShortenEdit
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings
from ullage.policy.budget import ContextBudget, target_for
from ullage.redaction.clean import hide, redact
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.transcript.fold import Transcript
from ullage.transcript.view import kept, leading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.reader import Check

# A block that takes more than this share of the limit is shortened before older messages are dropped.
_HUGE_SHARE = 0.5
# The first user message is the task. It stays whole if all that stays leaves at least this share of usable.
_LEFT_BY_FIRST = 0.3


class Terms(Struct, frozen=True, kw_only=True):
    """What the rungs of the ladder need to know: they make room down to `limit` tokens, by a session's settings. Rungs
    that are `forced` make room down to `usable` tokens only.

    `relied`: ids of messages that show what notices refer to. `result_tokens`: the most tokens that an old tool result
    may keep. `own_strategy`: an embedding program's strategy, which replaces those that the settings name.
    """

    limit: int
    usable: int
    settings: ContextSettings
    transcript: Transcript
    new_stamp: Callable[[], Stamp]
    relied: frozenset[str]
    result_tokens: int = 0
    own_strategy: TruncationStrategy | None = None

    def stay(self, messages: Sequence[Message]) -> frozenset[str]:
        """Returns the messages that stay for their own sake: system messages, the first prompt, pinned ones."""
        transcript = self.transcript
        return frozenset({*leading(messages, transcript.first_user_id), *kept(messages, transcript.pinned)})

    def spared(self, messages: Sequence[Message]) -> frozenset[str]:
        """Returns the messages that cheap edits spare: system, pinned, and those that a notice refers to."""
        return frozenset({*kept(messages, self.transcript.pinned), *self.relied})


MakeEdits = Callable[[CountedView, Terms], Sequence[Edit]]


class Rung(Struct, frozen=True):
    """One way of making room. `what` names, for the user, the content that it removes. `make_edits` returns the edits
    for a view, empty if there is nothing to remove. `forced` says that it is used only on a context that exceeds
    usable."""

    what: str
    make_edits: MakeEdits
    forced: bool = False


class Firm(Struct, frozen=True, kw_only=True):
    """What automatic management leaves whole: the messages with these ids, and what the user typed in the newest one.
    `tokens` are theirs, with the tools and the hidden prompt."""

    ids: frozenset[str]
    tokens: int


class Attempt(Struct, frozen=True, kw_only=True):
    """One try at a summary. `what` names it for the user. `skip` is the number of the oldest message groups that the
    summarizer is not shown. `offline` says that offline code writes it. `focus` are the user's words about what the
    summary must keep."""

    what: str
    skip: int = 0
    offline: bool = False
    focus: str = ""


def climb(rungs: Sequence[Rung], view: CountedView, terms: Terms) -> list[tuple[Rung, Edit]]:
    """Returns the edits of as many rungs, in order, as are needed to bring the view to at most `terms.limit` tokens,
    each edit with its rung. Each rung plans on the view that the rungs before it leave."""
    made: list[tuple[Rung, Edit]] = []
    for rung in rungs:
        if view.used <= (terms.usable if rung.forced else terms.limit):
            continue
        for edit in rung.make_edits(view, terms):
            made.append((rung, edit))
            view = view.after(edit)
            if isinstance(edit, DuplicateReadsEdit):
                terms = replace(terms, relied=terms.relied | set(edit.shown_in))
    return made


def _repeats(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(dedupe_reads(view, terms.new_stamp(), terms.stay(view.messages)))


def _thinking(view: CountedView, terms: Terms) -> Sequence[Edit]:
    keep = terms.settings.keep_thinking_turns
    return _any(clear_thinking(view, keep, terms.new_stamp(), terms.spared(view.messages)) if keep else None)


def _tool_uses(view: CountedView, terms: Terms) -> Sequence[Edit]:
    options = ClearOptions(
        keep=terms.settings.keep_tool_uses,
        exclude_tools=frozenset(terms.settings.exclude_tools),
        clear_tool_inputs=terms.settings.clear_tool_inputs,
    )
    return _any(clear_tool_uses(view, options, terms.new_stamp(), terms.spared(view.messages)))


def _long_results(view: CountedView, terms: Terms) -> Sequence[Edit]:
    limits = ResultLimits(
        max_result_tokens=terms.result_tokens,
        by_tool=terms.settings.max_result_tokens_by_tool,
        exclude_tools=frozenset(terms.settings.exclude_tools),
    )
    return _any(shorten_results(view, limits, terms.new_stamp(), terms.spared(view.messages)))


def _huge_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    """Returns an edit that shortens blocks of more than half of what the limit leaves, so that for one huge message not
    all others are dropped. The last messages, which are still to be answered, are not shortened unless one of them
    takes more than half of usable."""
    firm = firm_in(view, terms.transcript, terms.usable)
    last = {view.messages[i].id for i in view.groups[-1]} if view.groups else set[str]()
    sizes = zip(view.messages, view.tokens, strict=True)
    large = {message.id for message, tokens in sizes if message.id not in last or tokens > terms.usable * _HUGE_SHARE}
    cap = int(max(0, terms.limit - firm.tokens) * _HUGE_SHARE)
    return _any(cap_blocks(view, cap, terms.new_stamp(), large - firm.ids))


def _older(view: CountedView, terms: Terms) -> Sequence[Edit]:
    transcript, settings = terms.transcript, terms.settings
    keep = Keep(pinned=frozenset(transcript.pinned), first_user_id=transcript.first_user_id, relied=terms.relied)
    strategy = terms.own_strategy or make_chain(chain_for(settings.mode, settings.strategies))
    return plan_truncation(view, strategy, terms.limit, keep, terms.new_stamp())


def _inside_the_answer(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(drop_inside(view, terms.usable, terms.stay(view.messages), terms.new_stamp()))


def _large_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(shorten(view, terms.usable, terms.new_stamp(), kept(view.messages, terms.transcript.pinned)))


def _system_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(shorten(view, terms.usable, terms.new_stamp(), view.pinned(terms.transcript.pinned)))


def firm_in(view: CountedView, transcript: Transcript, usable: int) -> Firm:
    """Returns what is kept whole in a view: system messages, pinned messages, what the user typed in the newest
    message, and the first user message if all of it leaves 30 % of `usable`."""
    pinned = view.pinned(transcript.pinned)
    ids = pinned | system_ids(view.messages)
    tokens = view.held(pinned) + view.size(ids - pinned)
    if view.newest is not None and view.newest.id == transcript.first_user_id:
        return Firm(ids=ids, tokens=tokens)
    first = {transcript.first_user_id or ""} - ids
    with_first = tokens + view.size(first)
    if with_first > usable * (1 - _LEFT_BY_FIRST):
        return Firm(ids=ids, tokens=tokens)
    return Firm(ids=ids | first, tokens=with_first)


def system_ids(messages: Sequence[Message]) -> frozenset[str]:
    """Returns the ids of the system messages among these."""
    return frozenset(message.id for message in messages if message.role is Role.SYSTEM)


def _any(edit: Edit | None) -> Sequence[Edit]:
    return () if edit is None else (edit,)


REPEATS = Rung("repeated file reads", _repeats)
OLD_TOOL_USES = Rung("old tool results", _tool_uses)

CHEAP: tuple[Rung, ...] = (
    REPEATS,
    Rung("older thinking", _thinking),
    OLD_TOOL_USES,
    Rung("parts of long tool results", _long_results),
)

SUMMARIES: tuple[Attempt, ...] = (
    Attempt(what="a summary"),
    Attempt(what="a summary without the oldest messages", skip=1),
    Attempt(what="an offline summary", offline=True),
)

TRUNCATIONS: tuple[Rung, ...] = (
    Rung("the middles of huge messages", _huge_blocks),
    Rung("older messages", _older),
    Rung("earlier parts of the last answer", _inside_the_answer, forced=True),
    Rung("the middles of the largest messages", _large_blocks, forced=True),
)

# Automatic management never uses this rung: an agent with a shortened system prompt lacks some of its instructions.
# It is used if a request must fit: for a budget that the user gave, and for a prompt that is too long to be sent.
LAST_RESORT = Rung("the middle of the system prompt", _system_blocks, forced=True)


def cheap_edits(view: CountedView, terms: Terms) -> list[tuple[Rung, Edit]]:
    """Returns the edits of all rungs that need no model, as one action. Repeated file reads are left alone if only that
    reaches the limit: the messages that notices of repeated reads refer to cannot be cleared, and that alone must not
    cause a compaction."""
    made = climb(CHEAP, view, terms)
    if _reaches(made, view, terms):
        return made
    plain = climb(tuple(rung for rung in CHEAP if rung is not REPEATS), view, terms)
    return plain if _reaches(plain, view, terms) else made


def _reaches(made: Sequence[tuple[Rung, Edit]], view: CountedView, terms: Terms) -> bool:
    return view.used - sum(edit.tokens_saved for _, edit in made) <= terms.limit


T = TypeVar("T")
# A compaction by hand must make room now: it leaves at most half of the present tokens, half of them in the tail.
_MANUAL_SHARE = 0.5
_MANUAL_TAIL_SHARE = 0.25
# The share of the present tokens that its target must leave next to what is kept whole.
_MANUAL_LEAST = 0.1
# Share of the target. In a small window, a summary of full length would leave no room for the conversation.
_SUMMARY_SHARE = 0.35
# Share of the room that one block may take. More would leave no room for the messages around the block.
BLOCK_SHARE = 0.25
# Share of the room that the messages which must stay may take together, such as many results of parallel calls. More
# would leave no room for a summary, and the record of everything before them would be lost.
_STAYING_SHARE = 0.6
# Share of the room that a message which the user typed may take.
_TYPED_SHARE = 0.5
# Tokens. A block that is cut to less says nothing any more.
_LEAST_BLOCK = 64
# Old messages worth keeping verbatim are few and short, because a summary says more per token. Below 4,000 tokens the
# summary needs all the room.
_KEEP_OLD_SHARE, _KEEP_OLD_FROM = 0.05, 4_000


class Shorter(Struct, frozen=True, kw_only=True):
    """Messages, by their ids, whose largest blocks are shortened until the messages take at most `tokens` together, so
    that the tail has room for them."""

    messages: frozenset[str]
    tokens: int


def firm(conversation: Conversation, budget: ContextBudget) -> Firm:
    """Returns what automatic management leaves whole in the present context."""
    return firm_in(conversation.projection.counted_view(), conversation.transcript, budget.usable)


def aimed(budget: ContextBudget, staying: Firm) -> ContextBudget:
    """Returns the budget with a target that leaves the conversation enough room next to what is kept whole."""
    return replace(budget, target=target_for(budget, staying.tokens))


def automatic_limits(budget: ContextBudget) -> CompactionLimits:
    """Returns the limits of an automatic compaction in tokens: target, tail, and shares for the rest."""
    return _limits(budget.target, budget.keep_tail)


def manual_limits(used: int, budget: ContextBudget | None, staying: Firm) -> CompactionLimits:
    """Returns the limits of a compaction by hand, in tokens. The target is half of `used`, or the budget's target if
    that is less, so that the compaction helps even if the context is nearly empty. If what is kept whole leaves too
    little of that, the target is it and half of the rest."""
    target, tail = int(used * _MANUAL_SHARE), int(used * _MANUAL_TAIL_SHARE)
    if budget is not None:
        target, tail = min(target, budget.target), min(tail, budget.keep_tail)
    if target - staying.tokens < used * _MANUAL_LEAST:
        target = max(target, staying.tokens + int((used - staying.tokens) * _MANUAL_SHARE))
    return _limits(target, tail)


def pinned_in(view: CountedView, pinned: Collection[str]) -> Firm:
    """Returns what is kept whole in every context: pinned messages (by their ids), and what the user typed in the
    newest message. The tokens are without those that every context has."""
    ids = view.pinned(pinned)
    return Firm(ids=ids, tokens=view.held(ids) - view.fixed)


def keep_old(target: int) -> int:
    """Returns the most tokens that old messages kept verbatim may take in a context of `target` tokens."""
    return int(max(0, target - _KEEP_OLD_FROM) * _KEEP_OLD_SHARE)


async def plan_within(  # noqa: PLR0913 (each is a term of the plan)
    conversation: Conversation,
    limits: CompactionLimits,
    trigger: EditTrigger,
    *,
    block_share: float = BLOCK_SHARE,
    shorter: Shorter | None = None,
    staying: Firm | None = None,
    view: CountedView | None = None,
) -> Planned:
    """Returns the plan of a compaction of `view`, the present one if it is None, within these limits. `staying` is what
    is kept whole; if it is None, only pinned messages and what the user typed in the newest message do. Any other block
    of the first or the last messages, which must stay, is shortened to `block_share` of what that leaves of the target,
    and to less if there are many, and the messages in `shorter` to their limit. Raises `NothingToCompact`."""
    transcript, used = conversation.transcript, conversation.used
    view = view or conversation.projection.counted_view()
    stamp = conversation.workspace.new_stamp(trigger)
    staying = staying or pinned_in(view, transcript.pinned)
    room = max(0, limits.target - staying.tokens)
    cut = _cut_to_stay(view, room, block_share, stamp, _staying(view, transcript.first_user_id) - staying.ids)
    if shorter is not None:
        now = view.after(cut) if cut else view
        others = {message.id for message in now.messages} - shorter.messages
        limit = now.used - now.size(shorter.messages) + shorter.tokens
        cut = _both(cut, shorten(now, limit, stamp, others))
    if cut is not None:
        view = view.after(cut)
    limits = replace(limits, target=min(limits.target, used - 1))
    pinned, first_user_id = frozenset(transcript.pinned), transcript.first_user_id

    def choose(check: "Check") -> CompactionPlan | None:
        from ullage.summary.reader import is_worth_keeping  # noqa: PLC0415  (30 ms to import)

        return plan_compaction(view, limits, pinned, first_user_id, partial(is_worth_keeping, check))

    planned = await plan_in_thread(conversation, view, choose, trigger)
    if planned is None:
        raise NothingToCompact(words.nothing_to_compact(transcript.active, used))
    return replace(planned, cuts=(replace(cut, part_of=planned.stamp.id),)) if cut else planned


async def plan_in_thread(
    conversation: Conversation,
    view: CountedView,
    choose: Callable[["Check"], CompactionPlan | None],
    trigger: EditTrigger,
) -> Planned | None:
    """Returns the plan that `choose` makes for the present context, or None if `choose` returns None. `choose` runs in
    a thread, because it reads every old message, which takes seconds in a large context."""
    used, edits_seen = conversation.used, conversation.edits_seen
    # A summary that came with a program's messages has a number of its own.
    numbers = [block.compaction_number for message in view.messages if (block := message.compaction)]
    number = 1 + max(conversation.transcript.compactions, *numbers, 0)
    stamp = conversation.workspace.new_stamp(trigger)
    chosen = await in_thread(choose)
    if chosen is None:
        return None
    return Planned(
        view=view,
        plan=replace(chosen, used_before=used),
        stamp=stamp,
        number=number,
        edits_seen=edits_seen,
        private=conversation.settings.private_patterns,
    )


def finish(planned: Planned, summary: Summary) -> CompactionEdit:
    """Returns the compaction's edit from a plan and a summary, without secrets and private text."""
    safe = hide(replace(summary, text=redact(summary.text), brought_back=planned.brought_back), planned.private)
    return finish_compaction(planned.plan, planned.view, planned.stamp, safe, planned.number)


def _limits(target: int, tail: int) -> CompactionLimits:
    return CompactionLimits(
        target=target,
        keep_tail=tail,
        summary=min(SUMMARY_CAP, int(target * _SUMMARY_SHARE)),
        keep_old=keep_old(target),
    )


def _cut_to_stay(
    view: CountedView, room: int, block_share: float, stamp: Stamp, staying: frozenset[str]
) -> ShortenEdit | None:
    """Returns the edit that shortens the blocks of the messages in `staying` to `block_share` of `room` each, and to
    less if they would still take too much of it together. What the user typed may take half of `room` if that is large,
    and is shortened to less only after all others. None if none is too long."""
    limit = typed_limit = int(room * block_share)
    most = room * max(_STAYING_SHARE, block_share)
    typed = frozenset(message.id for message in view.messages if message.id in staying and _is_typed(message))
    if room > _KEEP_OLD_FROM:
        typed_limit = max(limit, int(room * _TYPED_SHARE))

    def made() -> ShortenEdit | None:
        others = cap_blocks(view, limit, stamp, staying - typed)
        return _both(others, cap_blocks(view.after(others) if others else view, typed_limit, stamp, typed))

    cut = made()
    while (view.after(cut) if cut else view).size(staying) > most and max(limit, typed_limit) > _LEAST_BLOCK:
        if limit <= _LEAST_BLOCK:
            typed_limit //= 2
        limit = max(limit // 2, _LEAST_BLOCK)
        cut = made()
    return cut


def _is_typed(message: Message) -> bool:
    """Returns whether the user typed a message: it is no result, no output and no text of a program."""
    return len(message.content) > 0 and len(typed_blocks(message)) == len(message.content)


def _both(first: ShortenEdit | None, second: ShortenEdit | None) -> ShortenEdit | None:
    """Returns two edits of different messages as one; the second was made in the view after the first."""
    if first is None or second is None:
        return first or second
    return replace(
        first,
        replacements=(*first.replacements, *second.replacements),
        tokens_saved=first.tokens_saved + second.tokens_saved,
    )


def _staying(view: CountedView, first_user_id: str | None) -> frozenset[str]:
    """Returns the ids of the messages that stay in every compaction and may be shortened: system messages, the first
    user message, and the last group. What the user typed in the newest message is not shortened."""
    messages = view.messages
    if not messages:
        return frozenset()
    staying = frozenset({*leading(messages, first_user_id), *(messages[i].id for i in view.groups[-1])})
    newest = view.newest
    return staying - {newest.id} if newest is not None and _is_typed(newest) else staying


async def in_thread(work: Callable[["Check"], T]) -> T:
    """Runs `work` in a thread and returns its result, so that the event loop stays free. If the awaiting task is
    cancelled, the check that `work` gets raises at its next call, so that the thread ends soon."""
    given_up = Event()

    def check() -> None:
        if given_up.is_set():
            raise CancelledError

    try:
        return await asyncio.to_thread(work, check)
    finally:
        given_up.set()
