"""Automatic management: after every change of a conversation it warns once, and makes room in the background.

The ways of making room and their order are the tables of `service/plan/ladder.py`. A run ends with a context that fits
the window, or with a notice that says which part is too large for it.
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
from ullage.model.settings import Settings
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
from ullage.service.conversation.workspace import Workspace
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
from ullage.service.ports.ports import Ports
from ullage.service.summaries.prepared import tail_for, write_ahead

_log = logging.getLogger(__name__)
# Searching for something to clear costs time in proportion to the context. After a search without result the context
# must grow by this share of `clear_at_least` before the next search.
_RETRY_SHARE = 0.25
_CLEARING = (Action.CLEAR, Action.CLEAR_TOOL_USES)
# After a veto the hook is asked again once the context has grown by this share of usable.
_VETO_SHARE = 0.02


def managed_workspace(ports: Ports, settings: Settings | None = None) -> Workspace:
    """Returns a workspace that manages each conversation automatically after every change."""
    return Workspace(ports, settings, manage)


def manage(changed: Changed) -> None:
    """Manages a conversation after a change. Changes that another process recorded are left to that process. Changes
    that need no room are skipped: those that management itself has recorded, and a revert, because its user wants
    the context as it was before the edit."""
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
    """Warns if a warning is due, and starts a run or a preparation if one is due. Returns at once;
    `Conversation.settled` waits for the run."""
    budget, guards, used = conversation.budget, conversation.guards, conversation.used
    if budget is None or not conversation.is_managed or not conversation.is_open:
        return
    if answered:
        guards.breaker = after_turn(guards.breaker, used, budget)
    guards.warned_unfit = guards.warned_unfit and budget.overflow(used) > 0
    if used < budget.compact_at:
        guards.vetoed_at = 0
    # An agent behind the proxy keeps its own context, which our edits cannot make smaller.
    ours = conversation.transcript.agent is None
    due = _due(conversation, budget) if ours else Action.NONE
    _warn_if_due(conversation, budget, due)
    if due is not Action.NONE:
        _start(conversation)
    elif ours:
        write_ahead(conversation)


def _start(conversation: Conversation) -> None:
    """Starts a run, at once or when the jobs that it must wait for have ended."""
    if conversation.work.may(Ask.SHRINK, partial(_look_after, conversation)):
        run = conversation.work.start(Job.SHRINKING, shrink(conversation))
        run.add_done_callback(partial(_ended, conversation))


def _warn_if_due(conversation: Conversation, budget: ContextBudget, due: Action) -> None:
    """Warns if the warning is due. If compactions need the user's approval, publishes once that one is due."""
    guards, used = conversation.guards, conversation.used
    waits = conversation.workspace.settings.summary.confirm and due is not Action.COMPACT and used >= budget.compact_at
    if waits and not guards.warned_due:
        conversation.emit(compaction_due(used, budget.usable))
    guards.warned_due = waits
    if is_due(conversation.projection.alarm, used, budget):
        # The user needs no warning of a compaction that begins now or that now waits for approval.
        _warn(conversation, budget, quietly=waits or due is Action.COMPACT)


def _warn(conversation: Conversation, budget: ContextBudget, *, quietly: bool) -> None:
    """Publishes a warning and records it, so that no other process and no reload warns of the same crossing.
    `quietly` only sets the alarm."""
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
    """Begins the next preparation when a run has ended. The error of a failed run is published, because no caller
    awaits the run."""
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
    """Makes the room that is due now. Does nothing if none is due."""
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
        # If tools, overhead and system messages exceed the window by themselves, a summary of the rest would be paid
        # for in vain.
        wanted = conversation.settings.mode is TruncationMode.SUMMARIZE
        fixed = _fixed(conversation.projection.counted_view())
        if not wanted or conversation.guards.breaker.is_open or fixed >= budget.usable:
            _truncate(conversation, budget)
            return
        if not await _compact(conversation, budget):
            return


def _due(conversation: Conversation, budget: ContextBudget) -> Action:
    """Returns what is due. If only a compaction is due, it is downgraded to clearing in three cases, unless the
    context overflows: the breaker is open, a hook has vetoed and the context has not grown since, or compactions
    need the user's approval."""
    guards, used = conversation.guards, conversation.used
    action = decide(used, budget, conversation.projection.tool_uses, conversation.settings.clear_at_tool_uses)
    held_back = used < guards.vetoed_at + int(budget.usable * _VETO_SHARE)
    waits = guards.breaker.is_open or held_back or conversation.workspace.settings.summary.confirm
    if action is Action.COMPACT and waits and not budget.overflow(used):
        action = Action.CLEAR
    # The provider clears old tool results by itself.
    return Action.NONE if action in _CLEARING and guards.provider_clears else action


def _clear_cheaply(conversation: Conversation, budget: ContextBudget, action: Action) -> bool:
    """Applies the cheap rungs in one batch if they save enough. Returns whether they were applied."""
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
    """Compacts, and truncates if the summary has not helped. Returns whether the context must be looked at again."""
    before, guards = conversation.used, conversation.guards
    budget = _aimed(budget, conversation.projection.counted_view())
    conversation.workspace.bus.publish(AutoCompacting(session_id=conversation.id, used=before))
    try:
        await compact_somehow(conversation, partial(_plan, conversation, budget), EditTrigger.AUTOMATIC)
    except SessionBusy:
        # When the other compaction has ended, the conversation is managed again.
        return False
    except PreviewExpired:
        # The context was edited meanwhile, so something else may be due now.
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
    """Publishes a veto and waits for the context to grow. A context that overflows is truncated anyway."""
    conversation.emit(compaction_vetoed(str(veto)))
    if budget.overflow(conversation.used):
        _truncate(conversation, budget)
    conversation.guards.vetoed_at = conversation.used


def _truncate(conversation: Conversation, budget: ContextBudget) -> None:
    """Truncates to the target by the last rungs. Publishes a notice if the messages that must stay exceed the
    window."""
    view, before = conversation.projection.counted_view(), conversation.used
    if _fixed(view) < budget.usable:
        made = _climb_down(conversation, _aimed(budget, view).target, TRUNCATIONS)
        if made:
            edits = [edit for _, edit in made]
            conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    fits, guards = not budget.overflow(conversation.used), conversation.guards
    if not fits and not guards.warned_unfit:
        conversation.emit(cannot_fit(conversation.used, budget.usable, *_biggest(conversation)))
    guards.warned_unfit = not fits


def fit_limit(conversation: Conversation, limit: int) -> None:
    """Truncates a context that no summary could shrink to at most `limit` tokens, or as close to it as possible."""
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
    """Records the edits of one action. They are undone together."""
    *parts, last = edits
    together = (*(replace(part, part_of=last.id) for part in parts), last)
    conversation.record(*(ContextEdited(edit=edit) for edit in together))


def _aimed(budget: ContextBudget, view: CountedView) -> ContextBudget:
    """Returns the budget with a target that leaves room for the conversation in addition to the parts that always
    stay."""
    return replace(budget, target=target_for(budget, _fixed(view)))


def _fixed(view: CountedView) -> int:
    """Returns the tokens that no rung of automatic management can save: tools, overhead, system messages."""
    system = system_ids(view.messages)
    return view.fixed + sum(
        tokens for item, tokens in zip(view.items, view.tokens, strict=True) if item.message.id in system
    )


def _biggest(conversation: Conversation) -> tuple[str, int]:
    """Returns the name of the largest part of the context, for the user to act on, and its tokens."""
    view = conversation.projection.counted_view()
    system = system_ids(view.messages)
    sizes = {"what the tools and the hidden prompt take": view.fixed, "the system prompt": _fixed(view) - view.fixed}
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if item.message.id not in system:
            sizes[f"message {item.index + 1}"] = tokens
    return max(sizes.items(), key=lambda pair: pair[1])
