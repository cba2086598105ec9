"""How full a conversation is, as an update to send and as a status to return; published after every change."""

from msgspec import UNSET, UnsetType

from ullage.model.events import AgentAttached, ContextWarned, MessagePinned, SessionRenamed, SummaryReported
from ullage.model.price import CURRENCY, Bill
from ullage.model.updates import Cost, Meta, SessionInfoUpdate, UsageMeta, UsageUpdate
from ullage.policy.alarm import level
from ullage.policy.budget import ContextBudget
from ullage.service.conversation.conversation import Changed, Conversation

# Decimals of a dollar: what is smaller is noise of the sum.
_DECIMALS = 6
# Events that leave the figures as they were, and the one whose cost is published with the compaction that it is for.
_SILENT = (AgentAttached, ContextWarned, MessagePinned, SummaryReported)


def usage_meta(conversation: Conversation) -> UsageMeta:
    """Everything there is to say about the size of the context. Worked out once between two changes."""
    budget = conversation.budget
    if conversation.figures is None:
        conversation.figures = _work_out(conversation, budget)
    return conversation.figures


def _work_out(conversation: Conversation, budget: ContextBudget | None) -> UsageMeta:
    projection, transcript = conversation.projection, conversation.transcript
    reading, active = projection.tracker.reading, transcript.active
    return UsageMeta(
        source=reading.source,
        level=level(reading.used, budget if conversation.is_managed else None),
        usable=budget.usable if budget else None,
        warn_at=budget.warn_at if budget else None,
        compact_at=budget.compact_at if budget else None,
        breakdown=reading.breakdown,
        totals=projection.tracker.totals,
        model=conversation.model,
        messages_active=active,
        messages_archived=transcript.messages - active,
        compactions=transcript.compactions,
        oldest_timestamp=transcript.oldest_timestamp,
        reported_at=reading.reported_at,
        pending_messages=reading.pending_messages,
        error_share=reading.error_share,
        shares=budget.shares(reading.breakdown) if budget else None,
    )


def usage_update(conversation: Conversation) -> UsageUpdate | SessionInfoUpdate:
    """ACP's `usage_update`. That update must not guess the window: while it is unknown, the same facts are sent in a
    `session_info_update`, where `used` is the sum of the breakdown."""
    meta = Meta(ullage=usage_meta(conversation))
    budget = conversation.budget
    if budget is None:
        return SessionInfoUpdate(meta=meta)
    return UsageUpdate(used=conversation.used, size=budget.window, cost=cost_of(conversation), meta=meta)


def cost_of(conversation: Conversation) -> Cost | UnsetType:
    """What the session has cost so far; unset before the first report, and if a price is unknown."""
    bill = conversation.projection.bill
    if bill.amount is None or bill == Bill():
        return UNSET
    return Cost(amount=round(bill.amount, _DECIMALS), currency=CURRENCY)


def publish_usage(conversation: Conversation) -> None:
    """Sends the present figures to every listener."""
    conversation.emit(usage_update(conversation))


def publish_change(changed: Changed) -> None:
    """Sends a new title, and the figures unless they are as they were."""
    for event in changed.events:
        if isinstance(event, SessionRenamed):
            changed.conversation.emit(SessionInfoUpdate(title=event.title))
    if not changed.events or not all(isinstance(event, _SILENT) for event in changed.events):
        publish_usage(changed.conversation)
