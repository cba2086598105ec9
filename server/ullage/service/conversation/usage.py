"""How full a session is, as an update to send and a status to return."""

from msgspec import UNSET, UnsetType

from ullage.model.price import CURRENCY, Bill
from ullage.model.updates import Cost, Meta, SessionInfoUpdate, UsageMeta, UsageUpdate
from ullage.policy.alarm import level
from ullage.service.conversation.session import Session
from ullage.service.conversation.workspace import Workspace

# Of a dollar: the tenth of a cent's thousandth is noise of the sum.
_DECIMALS = 6


def usage_meta(workspace: Workspace, session: Session) -> UsageMeta:
    """Everything there is to say about the session's size."""
    budget = workspace.budget(session)
    reading = session.tracker.reading
    transcript = session.transcript
    active = transcript.active
    return UsageMeta(
        source=reading.source,
        level=level(reading.used, budget if workspace.is_managed(session) else None),
        usable=budget.usable if budget else None,
        warn_at=budget.warn_at if budget else None,
        compact_at=budget.compact_at if budget else None,
        breakdown=reading.breakdown,
        totals=session.tracker.totals,
        model=workspace.model(session),
        messages_active=active,
        messages_archived=transcript.messages - active,
        compactions=transcript.compactions,
        oldest_timestamp=transcript.oldest_timestamp,
        reported_at=reading.reported_at,
        pending_messages=reading.pending_messages,
        error_share=reading.error_share,
        shares=budget.shares(reading.breakdown) if budget else None,
    )


def usage_update(workspace: Workspace, session: Session) -> UsageUpdate | SessionInfoUpdate:
    """ACP's `usage_update`. Without a known window, which that update must not guess, the same facts ride in a
    `session_info_update`, `used` being the sum of the breakdown."""
    meta = Meta(ullage=usage_meta(workspace, session))
    budget = workspace.budget(session)
    if budget is None:
        return SessionInfoUpdate(meta=meta)
    return UsageUpdate(used=session.used, size=budget.window, cost=cost_of(session), meta=meta)


def cost_of(session: Session) -> Cost | UnsetType:
    """What the session has cost so far; unset before the first report, and where a price is not known."""
    bill = session.bill
    if bill.amount is None or bill == Bill():
        return UNSET
    return Cost(amount=round(bill.amount, _DECIMALS), currency=CURRENCY)


def tell_usage(workspace: Workspace, session: Session) -> None:
    """Sends the present figure to every listener."""
    workspace.emit(session.id, usage_update(workspace, session))
