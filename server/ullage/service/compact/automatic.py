"""Automatic management: after every change of a conversation it warns once, and makes room in the background.

A run ends with a context that fits the window, or with a notice that says which part is too large for it.
"""

import asyncio
import logging
from functools import partial

from ullage.model import words
from ullage.model.edits import EditTrigger
from ullage.model.errors import (
    CompactionVetoed,
    NothingToCompact,
    PreviewExpired,
    SessionBusy,
    UllageError,
)
from ullage.model.events import (
    AgentAttached,
    AutoCompacting,
    ContextEdited,
    ContextWarned,
    ContextWarning,
    EditReverted,
    Event,
    MessageAppended,
    SessionConfigured,
    SummaryReported,
)
from ullage.model.figure import Keeper
from ullage.model.message import Role
from ullage.model.settings import Settings, TruncationMode
from ullage.model.usage import UsageSource
from ullage.policy.alarm import is_due, raised
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, after_failure, after_success, after_turn, decide, why
from ullage.service.compact.room import biggest_part, clear_cheaply, truncate
from ullage.service.compact.run import compact_with_fallbacks
from ullage.service.conversation.conversation import Changed, Conversation, Planned
from ullage.service.conversation.environment import beside_the_log
from ullage.service.conversation.publish import notice
from ullage.service.conversation.work import Ask, Job
from ullage.service.conversation.workspace import Workspace
from ullage.service.plan import aimed, automatic_limits, firm, plan_within
from ullage.service.ports.world import Ports
from ullage.service.summaries.write import read_ahead, tail_for, write_ahead

_log = logging.getLogger(__name__)
_CLEARING = (Action.CLEAR, Action.CLEAR_TOOL_USES)
# After a veto the hook is asked again once the context has grown by this share of usable.
_VETO_SHARE = 0.02


def managed_workspace(ports: Ports, settings: Settings | None = None) -> Workspace:
    """Returns a workspace in which `manage` runs after every change of a conversation."""
    return Workspace(ports, settings, manage)


def manage(changed: Changed) -> None:
    """Warns, makes room or prepares a summary if that is due after a change of a conversation. Returns at once; room is
    made in the background.

    Nothing is done for a change by another process, which manages it itself, for edits by automatic management, or for
    an undo, because its user wants to see the context as it was before the edit. After a change of settings only a
    notice says that a compaction is due.
    """
    if not changed.is_ours or (changed.events and all(map(_asks_for_nothing, changed.events))):
        return
    configured = changed.events and all(isinstance(event, SessionConfigured) for event in changed.events)
    answered = any(isinstance(one, MessageAppended) and one.message.role is Role.ASSISTANT for one in changed.events)
    _look_after(changed.conversation, answered=answered, by_settings=changed.by_settings or bool(configured))


def _asks_for_nothing(event: Event) -> bool:
    match event:
        case ContextEdited(edit=edit):
            return edit.trigger is EditTrigger.AUTOMATIC
        case AgentAttached() | ContextWarned() | EditReverted() | SummaryReported():
            return True
        case _:
            return False


def _look_after(conversation: Conversation, *, answered: bool = False, by_settings: bool = False) -> None:
    """Publishes a warning, and starts a run that makes room, a preparation or reading ahead, if they are due. After a
    change of settings (`by_settings`) no run is started; a notice says that a compaction is due. `answered` says that
    the model has just answered. Returns at once; `Conversation.settled` waits for the run."""
    budget, guards, used = conversation.budget, conversation.guards, conversation.used
    if budget is None or not conversation.is_managed or not conversation.is_open:
        return
    if answered:
        guards.breaker = after_turn(guards.breaker, used, budget)
    guards.warned_unfit = guards.warned_unfit and budget.overflow(used) > 0
    if used < budget.compact_at:
        guards.vetoed_at = 0
    ours = _is_ours(conversation)
    due = _due(conversation, budget) if ours else Action.NONE
    if by_settings and due is Action.COMPACT:
        conversation.emit(notice("compaction_due", words.due_by_settings(used, budget.compact_at)))
    warn_or_wait(conversation, budget, due)
    if due is not Action.NONE and not by_settings:
        _start(conversation)
    elif due is Action.NONE and ours:
        write_ahead(conversation)
    if ours and due is not Action.COMPACT:
        read_ahead(conversation)


def _is_ours(conversation: Conversation) -> bool:
    """Returns whether Ullage's edits make the context smaller. They do not if an agent keeps the context, behind the
    proxy or in its own files."""
    return conversation.transcript.agent is None and conversation.keeper is Keeper.ULLAGE


def _start(conversation: Conversation) -> None:
    """Starts a run of automatic management, at once or when the jobs that it must wait for have ended."""
    if conversation.work.may(Ask.SHRINK, partial(_look_after, conversation)):
        run = conversation.work.start(Job.SHRINKING, shrink(conversation))
        run.add_done_callback(partial(_ended, conversation))


def _ended(conversation: Conversation, run: asyncio.Task[None]) -> None:
    """Begins the next preparation after a run that ended well. Logs and publishes the error of a failed run, because no
    caller awaits the run."""
    if run.cancelled():
        return
    error = run.exception()
    if error is None:
        write_ahead(conversation)
    else:
        _log.error("session %s: the automatic run broke down", conversation.id, exc_info=error)
        reason = str(error) if isinstance(error, UllageError) else "an internal error; the server's log has it"
        conversation.emit(notice("compaction_failed", words.compaction_failed(reason)))


async def shrink(conversation: Conversation) -> None:
    """Makes room in the context if that is due now: by cheap edits, by a compaction, or by truncation."""
    while True:
        budget = conversation.budget
        if budget is None:
            return
        action = _due(conversation, budget)
        if action is Action.NONE:
            return
        if clear_cheaply(conversation, budget, action):
            if budget.overflow(conversation.used):
                continue
            return
        if action is not Action.COMPACT:
            conversation.guards.cleared_at = conversation.used
            return
        # If what is kept whole exceeds the window by itself, a summary of the rest would be paid for in vain.
        wanted = conversation.settings.mode is TruncationMode.SUMMARIZE
        staying = firm(conversation, budget).tokens
        if not wanted or conversation.guards.breaker.is_open or staying >= budget.usable:
            truncate(conversation, budget)
            return
        if not await _compact(conversation, budget):
            return


def _due(conversation: Conversation, budget: ContextBudget) -> Action:
    """Returns what is due for the context. A compaction that is due becomes a clearing in three cases, unless the
    context overflows: the breaker is open, a hook has vetoed and the context has hardly grown since, or compactions
    need the user's approval. Clearing is never due if the provider clears by itself."""
    guards, used = conversation.guards, conversation.used
    action = decide(used, budget, conversation.projection.tool_uses, conversation.settings.clear_at_tool_uses)
    held_back = used < guards.vetoed_at + int(budget.usable * _VETO_SHARE)
    waits = guards.breaker.is_open or held_back or conversation.workspace.settings.summary.confirm
    if action is Action.COMPACT and waits and not budget.overflow(used):
        action = Action.CLEAR
    # The provider clears old tool results by itself.
    return Action.NONE if action in _CLEARING and guards.provider_clears else action


async def _compact(conversation: Conversation, budget: ContextBudget) -> bool:
    """Compacts the context, and truncates it if the compaction failed or has not helped. Returns whether `shrink` must
    look at the context again."""
    before, guards = conversation.used, conversation.guards
    conversation.workspace.bus.publish(AutoCompacting(session_id=conversation.id, used=before))
    try:
        await compact_with_fallbacks(conversation, partial(_plan, conversation, budget), EditTrigger.AUTOMATIC)
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
        conversation.emit(notice("compaction_failed", words.compaction_failed(str(error))))
    helped = conversation.used < min(before, budget.compact_at)
    if not helped:
        truncate(conversation, budget)
    guards.breaker = (after_success if helped else after_failure)(guards.breaker)
    if guards.breaker.is_open:
        said = words.breaker_opened(why(guards.breaker), *biggest_part(conversation))
        conversation.emit(notice("breaker_opened", said))
    return not budget.overflow(conversation.used)


async def _plan(conversation: Conversation, budget: ContextBudget) -> Planned:
    staying = firm(conversation, budget)
    limits = tail_for(conversation, automatic_limits(aimed(budget, staying)))
    return await plan_within(conversation, limits, EditTrigger.AUTOMATIC, staying=staying)


def _hold_back(conversation: Conversation, budget: ContextBudget, veto: CompactionVetoed) -> None:
    """Publishes a hook's veto and notes the size of the context, so that the hook is asked again only when the context
    has grown. A context that overflows is truncated in spite of the veto."""
    conversation.emit(notice("compaction_vetoed", words.compaction_vetoed(str(veto))))
    if budget.overflow(conversation.used):
        truncate(conversation, budget)
    conversation.guards.vetoed_at = conversation.used


def warn_if_due(conversation: Conversation) -> None:
    """Publishes and records a warning if one is due. For programs that make room themselves. If the store refuses, that
    is logged, and the warning comes with the next message."""
    budget = conversation.budget
    if budget is not None and is_due(conversation.projection.alarm, conversation.sure, budget):
        with beside_the_log():
            _warn(conversation, budget, quietly=False, on_request=True)


def warn_or_wait(conversation: Conversation, budget: ContextBudget, due: Action) -> None:
    """Publishes a warning if the alarm is due, unless a compaction begins now or waits for the user's approval.
    Publishes once, too, that a compaction waits for approval."""
    guards, used = conversation.guards, conversation.used
    waits = conversation.workspace.settings.summary.confirm and due is not Action.COMPACT and used >= budget.compact_at
    if waits and not guards.warned_due:
        conversation.emit(notice("compaction_due", words.compaction_due(used, budget.window)))
    guards.warned_due = waits
    # Of an agent without a known threshold nothing is known to come.
    is_known = conversation.keeper is not Keeper.AGENT or conversation.rules.threshold is not None
    if (
        is_known
        and not _awaits_report(conversation)
        and is_due(conversation.projection.alarm, conversation.sure, budget)
    ):
        # The user needs no warning of a compaction that begins now or that now waits for approval.
        _warn(conversation, budget, quietly=waits or due is Action.COMPACT)


def _awaits_report(conversation: Conversation) -> bool:
    """Returns whether the figure is not the one that the agent behind the proxy has reported itself. Such an agent
    reports again in every turn, and knows of growth that the proxy can't see and can't expect."""
    attached = conversation.transcript.agent
    source = conversation.projection.tracker.reading.source
    return attached is not None and attached.reports and source is not UsageSource.REPORTED


def _warn(conversation: Conversation, budget: ContextBudget, *, quietly: bool, on_request: bool = False) -> None:
    """Publishes a warning and records it, so that no other process and no later opening of the session warns of the
    same crossing. With `quietly` nothing is published or recorded; only the alarm is set. `on_request` means that room
    is made only when a program asks for it."""
    alarm = raised(conversation.used, budget)
    if quietly:
        conversation.projection.alarm = alarm
        return
    threshold = conversation.rules.threshold
    event = ContextWarning(
        session_id=conversation.id,
        used=conversation.used,
        usable=budget.usable,
        window=budget.window,
        compact_at=threshold.tokens if threshold else None,
        asks=conversation.workspace.settings.summary.confirm,
        on_request=on_request,
        agent=conversation.rules.holder if conversation.keeper is Keeper.AGENT else "",
    )
    conversation.record(ContextWarned(used=alarm.used, again_below=alarm.again_below or 0))
    conversation.workspace.bus.publish(event)
