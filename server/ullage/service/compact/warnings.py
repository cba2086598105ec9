"""Warns once per crossing of the warning threshold."""

from ullage.model.events import (
    ContextWarned,
    ContextWarning,
)
from ullage.model.figure import Keeper
from ullage.model.usage import UsageSource
from ullage.policy.alarm import is_due, raised
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import beside_the_log
from ullage.service.conversation.publish import (
    compaction_due,
)


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
        conversation.emit(compaction_due(used, budget.window))
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
