"""Automatic context management: after every change of a conversation, warn once, and make room in the background.

The ways of making room, and their order, are the tables of `service/plan/ladder.py`; here they are climbed. A run
always ends with a context that fits the window, or with a notice of what is too large for it.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.context_events import AutoCompacting, ContextWarning
from ullage.model.edits import DuplicateReadsEdit, Edit, EditTrigger
from ullage.model.errors import (
    CompactionVetoed,
    NothingToCompact,
    PreviewExpired,
    SessionBusy,
    UllageError,
)
from ullage.model.events import (
    AgentAttached,
    ContextEdited,
    ContextWarned,
    EditReverted,
    Event,
    MessageAppended,
    SummaryReported,
)
from ullage.model.message import Role
from ullage.model.strategies import TruncationMode
from ullage.policy.alarm import is_due, raised
from ullage.policy.breaker import after_failure, after_success, after_turn, why
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, Gain, decide, result_tokens, target_for, worth_clearing
from ullage.service.compact.tries import compact_somehow
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.planned import Planned
from ullage.service.conversation.publish import (
    breaker_opened,
    cannot_fit,
    compaction_due,
    compaction_failed,
    compaction_vetoed,
    context_cleared,
)
from ullage.service.conversation.work import Ask, Job
from ullage.service.plan.ladder import (
    LAST_RESORT,
    OLD_TOOL_USES,
    TRUNCATIONS,
    Rung,
    Terms,
    cheap_edits,
    climb,
    system_ids,
)
from ullage.service.plan.plan import automatic_limits, plan_within
from ullage.service.summaries.prepared import tail_for, write_ahead

_log = logging.getLogger(__name__)
# Looking for something to clear costs time in proportion to the context; after a vain look, the context must have
# grown by this share of what clearing must save.
_RETRY_SHARE = 0.25
_CLEARING = (Action.CLEAR, Action.CLEAR_TOOL_USES)
# A hook that held a compaction back is asked again once the context has grown by this share of usable.
_VETO_SHARE = 0.02


def manage(changed: Changed) -> None:
    """Looks after a conversation that this process has changed. Another process looks after its own changes. Changes
    that ask for no room are left alone: what management records itself, and a revert, whose user wants the context as
    it was before the edit."""
    if changed.is_ours and not (changed.events and all(map(_asks_for_nothing, changed.events))):
        answered = any(
            isinstance(one, MessageAppended) and one.message.role is Role.ASSISTANT for one in changed.events
        )
        _look_after(changed.conversation, answered=answered)


def _asks_for_nothing(event: Event) -> bool:
    match event:
        case ContextEdited(edit=edit):
            return edit.trigger is EditTrigger.AUTOMATIC
        case AgentAttached() | ContextWarned() | EditReverted() | SummaryReported():
            return True
        case _:
            return False


def _look_after(conversation: Conversation, *, answered: bool = False) -> None:
    """Warns if due and starts shrinking if needed. Returns at once; `settled` waits for what it started."""
    budget, guards, used = conversation.budget, conversation.guards, conversation.used
    if budget is None or not conversation.is_managed or not conversation.is_open:
        return
    if answered:
        guards.breaker = after_turn(guards.breaker, used, budget)
    guards.told_unfit = guards.told_unfit and budget.overflow(used) > 0
    if used < budget.compact_at:
        guards.vetoed_at = 0
    # An agent behind the proxy keeps its own context: no edit of ours would make it smaller.
    ours = conversation.transcript.agent is None
    due = _due(conversation, budget) if ours else Action.NONE
    _warn_if_due(conversation, budget, due)
    if due is not Action.NONE:
        _start(conversation)
    elif ours:
        write_ahead(conversation)


def _start(conversation: Conversation) -> None:
    """Starts a run, now or when the work that it must wait for has ended."""
    if conversation.work.may(Ask.SHRINK, partial(_look_after, conversation)):
        run = conversation.work.start(Job.SHRINKING, shrink(conversation))
        run.add_done_callback(partial(_ended, conversation))


def _warn_if_due(conversation: Conversation, budget: ContextBudget, due: Action) -> None:
    """Warns, or says once that a compaction waits for the user."""
    guards, used = conversation.guards, conversation.used
    waits = conversation.workspace.settings.summary.confirm and due is not Action.COMPACT and used >= budget.compact_at
    if waits and not guards.told_due:
        conversation.emit(compaction_due(used, budget.usable))
    guards.told_due = waits
    if is_due(conversation.projection.alarm, used, budget):
        # What compacts at once, or now waits for the user, needs no announcement that it will.
        _warn(conversation, budget, quietly=waits or due is Action.COMPACT)


def _warn(conversation: Conversation, budget: ContextBudget, *, quietly: bool) -> None:
    """Warns, and records that, so that no other door and no reload warns of the same crossing."""
    alarm = raised(conversation.used, budget)
    if quietly:
        conversation.projection.alarm = alarm
        return
    event = ContextWarning(
        session_id=conversation.id,
        used=conversation.used,
        usable=budget.usable,
        compact_at=budget.compact_at,
        asks=conversation.workspace.settings.summary.confirm,
    )
    conversation.record(ContextWarned(used=alarm.used, again_below=alarm.again_below or 0))
    conversation.workspace.bus.publish(event)


def _ended(conversation: Conversation, run: asyncio.Task[None]) -> None:
    """After a run: begins to prepare the next summary. A run that broke down is published, since nobody awaits it."""
    if run.cancelled():
        return
    error = run.exception()
    if error is None:
        write_ahead(conversation)
    else:
        _log.error("session %s: the automatic run broke down", conversation.id, exc_info=error)
        reason = str(error) if isinstance(error, UllageError) else "an internal error; the server's log has it"
        conversation.emit(compaction_failed(reason))


async def shrink(conversation: Conversation) -> None:
    """Makes the room that is due now, if any is."""
    while True:
        budget = conversation.budget
        if budget is None:
            return
        action = _due(conversation, budget)
        if action is Action.NONE or _clear_cheaply(conversation, budget, action):
            return
        if action is not Action.COMPACT:
            conversation.guards.cleared_at = conversation.used
            return
        # If what must stay is too much by itself, a summary of the rest would be paid for in vain.
        wanted = conversation.settings.mode is TruncationMode.SUMMARIZE
        fixed = _fixed(conversation.projection.counted_view())
        if not wanted or conversation.guards.breaker.is_open or fixed >= budget.usable:
            _truncate(conversation, budget)
            return
        if not await _compact(conversation, budget):
            return


def _due(conversation: Conversation, budget: ContextBudget) -> Action:
    """What the context needs. With the breaker open only what overflows is dealt with, without a summary. The same
    holds after a veto of the user's hook, until the context has grown; and if users want to be asked, but with a
    summary."""
    guards, used = conversation.guards, conversation.used
    action = decide(used, budget, conversation.projection.tool_uses, conversation.settings.clear_at_tool_uses)
    held_back = used < guards.vetoed_at + int(budget.usable * _VETO_SHARE)
    waits = guards.breaker.is_open or held_back or conversation.workspace.settings.summary.confirm
    if action is Action.COMPACT and waits and not budget.overflow(used):
        action = Action.CLEAR
    # What the provider clears itself need not be cleared here.
    return Action.NONE if action in _CLEARING and guards.provider_clears else action


def _clear_cheaply(conversation: Conversation, budget: ContextBudget, action: Action) -> bool:
    """Applies the cheap rungs in one batch, if they are worth it."""
    settings, before = conversation.settings, conversation.used
    cleared_at = conversation.guards.cleared_at
    if before < budget.compact_at and before < cleared_at + settings.clear_at_least * _RETRY_SHARE:
        return False
    view = conversation.projection.counted_view()
    by_count = action is Action.CLEAR_TOOL_USES
    budget = _aimed(budget, view)
    limit = 0 if by_count else budget.target
    terms = _terms(conversation, limit, result_tokens(budget, settings.max_result_tokens))
    made = climb((OLD_TOOL_USES,), view, terms) if by_count else cheap_edits(view, terms)
    edits = [edit for _, edit in made]
    if not worth_clearing(action, _gain(before, edits), budget, settings.clear_at_least):
        return False
    _record_together(conversation, edits)
    conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    return True


def _gain(before: int, edits: Sequence[Edit]) -> Gain:
    saved = sum(edit.tokens_saved for edit in edits)
    repeats = sum(edit.tokens_saved for edit in edits if isinstance(edit, DuplicateReadsEdit))
    return Gain(before=before, after=before - saved, repeats=repeats)


def _listed(made: Sequence[tuple[Rung, Edit]]) -> str:
    *others, last = (rung.what for rung, _ in made)
    return f"{', '.join(others)} and {last}" if others else last


async def _compact(conversation: Conversation, budget: ContextBudget) -> bool:
    """Compacts, or truncates where no summary helps. Whether it is worth looking at the context again."""
    before, guards = conversation.used, conversation.guards
    budget = _aimed(budget, conversation.projection.counted_view())
    conversation.workspace.bus.publish(AutoCompacting(session_id=conversation.id, used=before))
    try:
        await compact_somehow(conversation, partial(_plan, conversation, budget), EditTrigger.AUTOMATIC)
    except SessionBusy:
        # When the other compaction has ended, the conversation is looked after again.
        return False
    except PreviewExpired:
        # Edited meanwhile: what is due now is another matter.
        guards.breaker = after_failure(guards.breaker)
        return True
    except CompactionVetoed as veto:
        _hold_back(conversation, budget, veto)
        return False
    except NothingToCompact as error:
        _log.info("session %s: %s", conversation.id, error)
    except UllageError as error:
        conversation.emit(compaction_failed(str(error)))
    helped = conversation.used < min(before, budget.compact_at)
    if not helped:
        _truncate(conversation, budget)
    guards.breaker = (after_success if helped else after_failure)(guards.breaker)
    if guards.breaker.is_open:
        conversation.emit(breaker_opened(why(guards.breaker), *_biggest(conversation)))
    return not budget.overflow(conversation.used)


async def _plan(conversation: Conversation, budget: ContextBudget) -> Planned:
    limits = tail_for(conversation, automatic_limits(budget))
    return await plan_within(conversation, limits, EditTrigger.AUTOMATIC)


def _hold_back(conversation: Conversation, budget: ContextBudget, veto: CompactionVetoed) -> None:
    """Leaves the context to the user, unless it no longer fits the window."""
    conversation.emit(compaction_vetoed(str(veto)))
    if budget.overflow(conversation.used):
        _truncate(conversation, budget)
    conversation.guards.vetoed_at = conversation.used


def _truncate(conversation: Conversation, budget: ContextBudget) -> None:
    """The last rungs: down to the target. Publishes a notice if what must stay is too much for the window."""
    view, before = conversation.projection.counted_view(), conversation.used
    if _fixed(view) < budget.usable:
        made = _climb_down(conversation, _aimed(budget, view).target, TRUNCATIONS)
        if made:
            edits = [edit for _, edit in made]
            conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    fits, guards = not budget.overflow(conversation.used), conversation.guards
    if not fits and not guards.told_unfit:
        conversation.emit(cannot_fit(conversation.used, budget.usable, *_biggest(conversation)))
    guards.told_unfit = not fits


def fit_limit(conversation: Conversation, limit: int) -> None:
    """Brings a context that no summary could shrink to at most `limit` tokens, or as near as can be."""
    _climb_down(conversation, limit, (*TRUNCATIONS, LAST_RESORT))


def _climb_down(conversation: Conversation, limit: int, rungs: Sequence[Rung]) -> list[tuple[Rung, Edit]]:
    made = climb(rungs, conversation.projection.counted_view(), _terms(conversation, limit))
    if made:
        _record_together(conversation, [edit for _, edit in made])
    return made


def _terms(conversation: Conversation, limit: int, results: int = 0) -> Terms:
    return Terms(
        limit=limit,
        settings=conversation.settings,
        transcript=conversation.transcript,
        new_stamp=conversation.workspace.new_stamp,
        relied=frozenset(conversation.transcript.relied),
        result_tokens=results,
    )


def _record_together(conversation: Conversation, edits: Sequence[Edit]) -> None:
    """Appends the edits of one action, to be undone together."""
    *parts, last = edits
    together = (*(replace(part, part_of=last.id) for part in parts), last)
    conversation.record(*(ContextEdited(edit=edit) for edit in together))


def _aimed(budget: ContextBudget, view: CountedView) -> ContextBudget:
    """The budget with a target that leaves the conversation room beside what always stays."""
    return replace(budget, target=target_for(budget, _fixed(view)))


def _fixed(view: CountedView) -> int:
    """Tokens that stay whatever is done: tools, a hidden prompt, system messages."""
    system = system_ids(view.messages)
    return view.fixed + sum(
        tokens for item, tokens in zip(view.items, view.tokens, strict=True) if item.message.id in system
    )


def _biggest(conversation: Conversation) -> tuple[str, int]:
    """What is largest, by name, for the user to act on, and its tokens."""
    view = conversation.projection.counted_view()
    system = system_ids(view.messages)
    sizes = {"what the tools and the hidden prompt take": view.fixed, "the system prompt": _fixed(view) - view.fixed}
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if item.message.id not in system:
            sizes[f"message {item.index + 1}"] = tokens
    return max(sizes.items(), key=lambda pair: pair[1])
