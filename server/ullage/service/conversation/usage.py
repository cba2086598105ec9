"""The size of a conversation's context as an update and as a result, and whether an agent keeps the conversation.

The update is published after every change. A session is an agent's if it is followed now, or if it was read from the
agent's own file and that file is still there: the agent would not see an edit made here, and every figure of the
conversation would be another one than the agent's. A fork is the user's own. So is a copy that was imported from any
other file, or by its text, and one whose agent has deleted the file.
"""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ullage.ledger.finished_work import finished_work, may_end, may_have_committed
from ullage.model.errors import SessionFollowed
from ullage.model.events import AgentAttached, ContextWarned, MessagePinned, SessionRenamed, SummaryReported
from ullage.model.settings import Notices
from ullage.model.updates import Cost, FollowedFrom, Level, Meta, SessionInfoUpdate, UsageMeta, UsageUpdate
from ullage.model.usage import (
    CURRENCY,
    Bill,
    FollowedRow,
    GoodMoment,
    Hidden,
    HiddenKind,
    HiddenPart,
    Keeper,
    KnownThreshold,
    KnownWindow,
    Nearness,
)
from ullage.model.words import percent
from ullage.policy.budget import calls_left, level, nearness, passed
from ullage.policy.prompt_cache import idle_compaction, prompt_cache, prompt_usage
from ullage.service.conversation.conversation import Changed, Conversation
from ullage.service.conversation.environment import Rules
from ullage.service.conversation.projection import agent_of
from ullage.tokens.tracker import split_hidden

# Characters of a title that an error shows.
_TITLE = 60


def kept_by_agent(conversation: Conversation) -> FollowedFrom | None:
    """Returns the agent that keeps the conversation, and its file. Returns None if no agent on this machine does."""
    workspace, origin = conversation.workspace, conversation.transcript.origin
    if row := workspace.followed.get(conversation.id):
        return FollowedFrom(agent=row.agent, path=row.path)
    if origin is None or not workspace.own_files.has(origin.path):
        return None
    return FollowedFrom(agent=conversation.rules.agent, path=origin.path)


def require_not_kept(conversation: Conversation) -> None:
    """Raises `SessionFollowed` if an agent keeps the conversation, because it would not see a change made here."""
    kept = kept_by_agent(conversation)
    if kept is None:
        return
    agent, title = kept.agent or "an agent", conversation.transcript.title[:_TITLE]
    named = f"“{title}” (session {conversation.id})" if title else f"session {conversation.id}"
    raise SessionFollowed(
        f"{named} is a conversation of {agent}, which Ullage only reads: compact it there, go on in a new session that "
        "is written from it, or fork the session and change the fork",
        in_shell=f". A new session: `ullage continue {conversation.id}` (with `--before-compaction` or `--compacted`)",
    )


_NO_BILL = Bill()
# Decimals of a dollar in a cost. Smaller digits are rounding errors of the sum.
_DECIMALS = 6
# Events that change no figure, and `SummaryReported`, whose cost is published together with its compaction.
_SILENT = (AgentAttached, ContextWarned, MessagePinned, SummaryReported)


def usage_meta(conversation: Conversation) -> UsageMeta:
    """Returns all figures about the size of the context. They are computed once after each change, of the conversation
    or of what its agent says of the window and of the user's rate limits."""
    # This look at the rules forgets figures that they no longer lead to.
    rules = conversation.rules
    figures = conversation.figures = conversation.figures or _compute(conversation, rules)
    origin = conversation.transcript.origin
    limits = conversation.workspace.rate_limits(origin.origin_id) if origin and origin.origin_id else ()
    limits = limits or conversation.projection.evidence.rate_limits
    if limits != figures.rate_limits:
        figures = conversation.figures = replace(figures, rate_limits=limits)
    return figures


def _compute(conversation: Conversation, rules: Rules) -> UsageMeta:
    projection, transcript = conversation.projection, conversation.transcript
    reading, active, budget = projection.tracker.reading, transcript.active, rules.budget
    last = transcript.items[-1].message if transcript.items else None
    keeper = conversation.keeper
    # While automatic management is off, nothing happens at a threshold.
    is_kept = keeper is not Keeper.NOBODY
    threshold, left = rules.threshold if is_kept else None, tokens_left(reading.used, rules, keeper)
    cost = conversation.projection.bill.amount
    return UsageMeta(
        source=reading.source,
        level=_level(reading.used, rules, keeper),
        usable=budget.usable if budget else None,
        warn_at=budget.warn_at if budget and is_kept else None,
        compact_at=threshold.tokens if threshold else None,
        breakdown=reading.breakdown,
        totals=projection.tracker.totals,
        model=rules.model,
        messages_active=active,
        messages_archived=transcript.messages - active,
        compactions=transcript.compactions,
        oldest_timestamp=transcript.oldest_timestamp,
        reported_at=reading.reported_at,
        pending_messages=reading.pending_messages,
        error_share=reading.error_share,
        shares=budget.shares(reading.breakdown) if budget else None,
        as_of=transcript.newest_timestamp or None,
        percent=percent(reading.used, budget.window) if budget else None,
        warn_percent=rules.warn_percent if is_kept else None,
        window=rules.window,
        threshold=threshold,
        left=left,
        remarks=(
            *rules.remarks,
            *passed(rules.under.limits, rules.agent, conversation.transcript.cwd, reading.used, cost),
        ),
        calls_left=None if left is None else calls_left(left, projection.evidence.growths),
        hidden=Hidden(
            tokens=reading.breakdown.overhead,
            name=rules.hidden_name,
            parts=split_hidden(
                (*projection.listed, *own_files(conversation)),
                projection.tracker.calibration.ratio,
                reading.breakdown.overhead,
                rules.given.servers,
            ),
        ),
        managed_by=keeper,
        agent=rules.agent,
        followed=kept_by_agent(conversation),
        idle=idle_compaction(rules.idle, projection.cached, reading.used, reading.reported_at, last),
        cache=prompt_cache(projection.cached, reading.used, projection.price),
        moment=None if conversation.workspace.settings.notices is Notices.OFF else good_moment(conversation),
    )


def own_files(conversation: Conversation) -> tuple[HiddenPart, ...]:
    """Returns the user's files that the conversation's agent adds to each request, in local counts: those with
    instructions by their paths, and skills as one part. They are as they were when the conversation was opened. What
    the log lists is left out, and what was changed after the last message, because the agent did not send that."""
    projection, transcript = conversation.projection, conversation.transcript
    agent, last = agent_of(transcript), transcript.newest_timestamp or 0
    if agent is None or transcript.origin is None:
        return ()
    if conversation.own_files is None:
        count = projection.counter.count
        conversation.own_files = tuple(
            (
                HiddenPart(
                    kind=HiddenKind.SKILLS if one.is_skill else HiddenKind.MEMORY, name=one.path, tokens=count(one.text)
                ),
                one.changed_at,
            )
            for one in conversation.workspace.ports.instructions(agent, transcript.cwd)
        )
    listed = {part.kind for part in projection.listed}
    sent = [part for part, changed in conversation.own_files if changed <= last and part.kind not in listed]
    skills = sum(part.tokens for part in sent if part.kind is HiddenKind.SKILLS)
    files = [part for part in sent if part.kind is HiddenKind.MEMORY]
    return (*files, *([HiddenPart(kind=HiddenKind.SKILLS, tokens=skills)] if skills else []))


# Tokens. Below that, another prompt costs little, and nothing is near.
LONG = 100_000
# Tokens that `ullage continue` hands over unless it is told otherwise.
HANDED_OVER = 20_000


def good_moment(conversation: Conversation) -> GoodMoment | None:
    """Returns that a piece of work has just ended in a long conversation. Returns None if something of it is open, and
    if a new session would begin with more than half of it.

    Folds the messages of the context, which takes about 0.05 ms for each that is new, if the last turn may have ended
    a piece of work."""
    projection = conversation.projection
    transcript, used = projection.transcript, projection.tracker.reading.used
    if used < LONG or not transcript.items:
        return None
    last = transcript.items[-1].message
    if not may_end(last) or not may_have_committed(item.message for item in reversed(transcript.items)):
        return None
    tokens = projection.tracker.reading.breakdown.overhead + HANDED_OVER
    if tokens > used / 2:
        return None
    # Not with the fold of all messages, from which a summary is made.
    own = f"context {conversation.id}" if conversation.id else ""
    reader, messages = conversation.workspace.reader, transcript.view
    ledger = reader.ledger(messages, range(len(messages)), conversation=own, cwd=transcript.cwd)
    work = finished_work(ledger, last)
    if work is None:
        return None
    cost = projection.price(prompt_usage(projection.cached, 0, tokens))
    return GoodMoment(at=last.timestamp, work=work.text, tokens=tokens, cost=cost)


def shown_figures(conversation: Conversation) -> tuple[int, UsageMeta]:
    """Returns the size of the context in tokens, and all figures about it. The file of a followed conversation may end
    with an answer that is not complete yet and not in the session, and may be another model's. The size is then what
    the file's end says, and so are the window and the threshold."""
    meta, workspace = usage_meta(conversation), conversation.workspace
    row = workspace.followed.get(conversation.id) or workspace.followed_row(conversation.id)
    if row is None or row.used is None or row.used_source is None or row.updated_at < (meta.as_of or 0):
        return conversation.used, meta
    is_same = (row.window, row.compacts_at) == (meta.window.size if meta.window else None, meta.compact_at)
    if is_same and row.used == conversation.used:
        return row.used, meta
    rules = conversation.rules
    meta = replace(
        meta,
        source=row.used_source,
        level=_level(row.used, rules, conversation.keeper),
        as_of=row.updated_at,
        percent=row.percent,
        left=tokens_left(row.used, rules, conversation.keeper),
        idle=row.idle,
    )
    return row.used, meta if is_same else _as_in(row, row.used, meta)


def _as_in(row: FollowedRow, used: int, meta: UsageMeta) -> UsageMeta:
    """Returns the figures with the window and the threshold of a row: the conversation does not know its model yet."""
    basis, window, threshold = f"for {row.model}", None, None
    if row.window and row.window_source:
        window = KnownWindow(size=row.window, source=row.window_source, basis=basis)
    if window and row.compacts_at and row.compacts_at_source:
        share = percent(row.compacts_at, window.size)
        threshold = KnownThreshold(tokens=row.compacts_at, percent=share, source=row.compacts_at_source, basis=basis)
    limit = threshold.tokens if threshold else window.size if window else None
    left = None if limit is None else max(0, limit - used)
    return replace(
        meta, model=row.model, window=window, threshold=threshold, compact_at=row.compacts_at, left=left, remarks=()
    )


def nearness_of(conversation: Conversation) -> Nearness | None:
    """Returns how near the compaction of the context is, or the end of the window where nothing compacts it, by what
    warnings go by. Returns None if neither is known."""
    rules, used = conversation.rules, conversation.used_for_warnings
    left = tokens_left(used, rules, conversation.keeper)
    if rules.budget is None or left is None:
        return None
    limit = rules.threshold.tokens if rules.threshold else rules.budget.window
    calls = calls_left(left, conversation.projection.evidence.growths)
    return nearness(used, limit, calls.low if calls else None)


def tokens_left(used: int, rules: Rules, keeper: Keeper) -> int | None:
    """Returns the tokens left until the compaction threshold, or until the end of usable if no threshold is known or
    nobody keeps it. None if no window is known."""
    if rules.threshold is not None and keeper is not Keeper.NOBODY:
        return max(0, rules.threshold.tokens - used)
    return rules.budget.available(used) if rules.budget else None


def _level(used: int, rules: Rules, keeper: Keeper) -> Level:
    if rules.budget is None or keeper is Keeper.NOBODY:
        return Level.OFF
    reached = level(used, rules.budget)
    # Nothing is known of an agent's threshold, so nothing is known to be due.
    return Level.WARNING if reached is Level.CRITICAL and rules.threshold is None else reached


def usage_update(conversation: Conversation) -> UsageUpdate | SessionInfoUpdate:
    """Returns the figures as ACP's `usage_update`. If the window is unknown, returns a `session_info_update` with the
    same figures in `_meta`, because a `usage_update` must state the window."""
    used, figures = shown_figures(conversation)
    meta = Meta(ullage=figures)
    if figures.window is None:
        return SessionInfoUpdate(meta=meta)
    return UsageUpdate(used=used, size=figures.window.size, cost=conversation_cost(conversation), meta=meta)


def conversation_cost(conversation: Conversation) -> Cost | UnsetType:
    """Returns the session's cost so far. Unset before the first report, or without the price of a request."""
    bill = conversation.projection.bill
    if bill.amount is None or bill == _NO_BILL:
        return UNSET
    return Cost(amount=round(bill.amount, _DECIMALS), currency=CURRENCY)


def publish_usage(conversation: Conversation) -> None:
    """Publishes the present figures of the context to the listeners."""
    conversation.emit(usage_update(conversation))


def publish_change(changed: Changed) -> None:
    """Publishes a new title, and the present figures unless the events change no figure."""
    for event in changed.events:
        if isinstance(event, SessionRenamed):
            changed.conversation.emit(SessionInfoUpdate(title=event.title))
    if not changed.events or not all(isinstance(event, _SILENT) for event in changed.events):
        publish_usage(changed.conversation)
