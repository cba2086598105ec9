"""The size of a conversation's context as an update and as a result. The update is published after every change."""

from msgspec import UNSET, UnsetType

from ullage.model.events import AgentAttached, ContextWarned, MessagePinned, SessionRenamed, SummaryReported
from ullage.model.price import CURRENCY, Bill
from ullage.model.updates import Cost, Meta, SessionInfoUpdate, UsageMeta, UsageUpdate
from ullage.policy.alarm import level
from ullage.policy.budget import ContextBudget
from ullage.service.conversation.conversation import Changed, Conversation

# Decimals of a dollar in a cost. Smaller digits are rounding errors of the sum.
_DECIMALS = 6
# Events that change no figure, and `SummaryReported`, whose cost is published together with its compaction.
_SILENT = (AgentAttached, ContextWarned, MessagePinned, SummaryReported)


def usage_meta(conversation: Conversation) -> UsageMeta:
    """Returns all figures about the size of the context. They are computed once between two changes."""
    budget = conversation.budget
    if conversation.figures is None:
        conversation.figures = _compute(conversation, budget)
    return conversation.figures


def _compute(conversation: Conversation, budget: ContextBudget | None) -> UsageMeta:
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
    """Returns ACP's `usage_update`. If the window is unknown, returns a `session_info_update` with the same figures
    instead, because a `usage_update` must state the window. There `used` is the sum of the breakdown."""
    meta = Meta(ullage=usage_meta(conversation))
    budget = conversation.budget
    if budget is None:
        return SessionInfoUpdate(meta=meta)
    return UsageUpdate(used=conversation.used, size=budget.window, cost=cost_of(conversation), meta=meta)


def cost_of(conversation: Conversation) -> Cost | UnsetType:
    """Returns the cost of the session so far. Unset before the first usage, and if the price of any request is
    unknown."""
    bill = conversation.projection.bill
    if bill.amount is None or bill == Bill():
        return UNSET
    return Cost(amount=round(bill.amount, _DECIMALS), currency=CURRENCY)


def publish_usage(conversation: Conversation) -> None:
    """Publishes the present figures to the listeners."""
    conversation.emit(usage_update(conversation))


def publish_change(changed: Changed) -> None:
    """Publishes a new title, and the present figures unless no event has changed them."""
    for event in changed.events:
        if isinstance(event, SessionRenamed):
            changed.conversation.emit(SessionInfoUpdate(title=event.title))
    if not changed.events or not all(isinstance(event, _SILENT) for event in changed.events):
        publish_usage(changed.conversation)
