"""Planning a compaction: its limits, the messages it archives, and the edit made from a plan and a summary."""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError
from functools import partial
from threading import Event
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import typed_blocks
from ullage.edits.compaction import (
    SUMMARY_CAP,
    CompactionLimits,
    CompactionPlan,
    Summary,
    finish_compaction,
    plan_compaction,
)
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.shorten import cap_blocks, shorten
from ullage.model import words
from ullage.model.edits import CompactionEdit, EditTrigger, ShortenEdit
from ullage.model.errors import NothingToCompact
from ullage.model.message import Message
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import target_for
from ullage.redaction.privacy import hide
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.plan.ladder import Firm, firm_in
from ullage.summary.checks import Check
from ullage.transcript.cut_points import leading, pinned_ids

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
    """Returns the limits of an automatic compaction, in tokens: the budget's target and tail, and shares of the target
    for the summary and for old messages."""
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
    return Firm(ids=pinned_ids(view.messages, pinned), tokens=view.held(pinned) - view.fixed)


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
    reader = conversation.workspace.reader

    def choose(check: Check) -> CompactionPlan | None:
        from ullage.summary.old_messages import Judge  # noqa: PLC0415  (30 ms to import)

        return plan_compaction(view, limits, pinned, first_user_id, partial(Judge, reader, check))

    planned = await plan_in_thread(conversation, view, choose, trigger)
    if planned is None:
        raise NothingToCompact(words.nothing_to_compact(transcript.active, used))
    return replace(planned, cuts=(replace(cut, part_of=planned.stamp.id),)) if cut else planned


async def plan_in_thread(
    conversation: Conversation,
    view: CountedView,
    choose: Callable[[Check], CompactionPlan | None],
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


def finish(conversation: Conversation, planned: Planned, summary: Summary) -> CompactionEdit:
    """Returns the compaction's edit, made from a plan and a summary. Secrets and private text are removed from the
    summary, whichever summarizer wrote it."""
    text = conversation.workspace.reader.redact(summary.text)
    safe = hide(replace(summary, text=text, brought_back=planned.brought_back), planned.private)
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


async def in_thread(work: Callable[[Check], T]) -> T:
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
