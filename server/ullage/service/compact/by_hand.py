"""The edits that a user makes by hand: compacting, previewing and committing a compaction, and pinning messages.

Compaction to a budget: the context gets as full as possible and never exceeds the given number of tokens.

A plan must reserve tokens for the summary before the summary's length is known. The next try gives the tokens that the
summary left over to the tail, or to old messages if the tail can't use them, so that little of the budget stays unused.
"""

from collections.abc import Collection, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import MARKER_MIN, CompactionLimits, Summary, find_stretch, finish_compaction, plan_stretch
from ullage.edits.counted import CountedView
from ullage.edits.shorten import shorten
from ullage.model import words
from ullage.model.errors import CannotFit, InvalidRequest, MessageNotFound, NothingToCompact, PreviewExpired
from ullage.model.events import CompactionEdit, ContextEdited, EditTrigger, MessagePinned, ShortenEdit, compaction_block
from ullage.model.message import number_of
from ullage.model.words import alone
from ullage.service.compact.automatic import edits_to_fit, too_large
from ullage.service.compact.run import (
    AppliedCompaction,
    PreCompactHook,
    apply,
    brief,
    compact_with_fallbacks,
    edits_of,
    require_own_context,
    write_with_fallbacks,
)
from ullage.service.conversation.conversation import Conversation, Entry, Planned, Previewed
from ullage.service.conversation.usage import require_not_kept
from ullage.service.conversation.work import Ask
from ullage.service.plan import (
    BLOCK_SHARE,
    Firm,
    Shorter,
    finish,
    firm_in,
    keep_old,
    manual_limits,
    pinned_in,
    plan_in_thread,
    plan_within,
)
from ullage.service.summaries.write import summary_request

# Each preview holds a summary and a view. Without this limit a client that never commits would fill the memory.
_MOST_PREVIEWS = 16


class ManualRequest(Struct, frozen=True, kw_only=True):
    """What a user asks of a compaction by hand. `focus`: words about what the summary must keep. `first_id`, `last_id`:
    the first and the last message of the stretch to compact; None means the start or the end of the context. If both
    are None, the default limits choose the messages."""

    focus: str = ""
    first_id: str | None = None
    last_id: str | None = None


class Preview(Struct, frozen=True, kw_only=True):
    """A previewed compaction. `id` is passed to `commit`. `archived` are the messages that it would archive. Sizes
    are tokens of the context. `note` says how the plan differs from the user's request, empty if it does not."""

    id: str
    summary: Summary
    archived: tuple[Entry, ...]
    context_size_before: int
    context_size_after: int
    note: str


async def compact_by_hand(conversation: Conversation, request: ManualRequest) -> AppliedCompaction:
    """Compacts the context as a user requests, after a running automatic compaction. Raises `NothingToCompact`,
    `MessageNotFound`, `InvalidRequest` for a range that ends before it begins, `SessionBusy`, `CompactionVetoed`,
    `Conflict` if an agent behind the proxy keeps the context, `PreviewExpired` if the context was edited meanwhile, or
    `ProviderError` if no summary could be written."""
    await conversation.work.wait(Ask.COMPACT)
    require_own_context(conversation)
    planner = partial(_plan, conversation, request)
    return await compact_with_fallbacks(conversation, planner, EditTrigger.MANUAL, request.focus)


async def preview(conversation: Conversation, request: ManualRequest) -> Preview:
    """Plans a compaction and has its summary written, but records nothing. Up to 16 previews wait for `commit`; a
    further one replaces the oldest. Raises what `compact_by_hand` raises."""
    await conversation.work.wait(Ask.COMPACT)
    require_own_context(conversation)
    planned = await _plan(conversation, request)
    planned, asked = await brief(conversation, planned, request.focus, PreCompactHook(dry_run=True))
    summary = await write_with_fallbacks(conversation, planned, asked, request.focus)
    _keep(conversation, Previewed(planned=planned, summary=summary))
    edit = finish(planned, summary)
    return Preview(
        id=planned.stamp.id,
        summary=summary,
        archived=tuple(archived_entries(planned)),
        context_size_before=planned.plan.used_before,
        context_size_after=compaction_block(edit).context_size_after,
        note=planned.note,
    )


def commit(conversation: Conversation, preview_id: str, text: str | None) -> AppliedCompaction:
    """Applies the compaction of a preview. If `text` is not None, it replaces the preview's summary. Raises
    `PreviewExpired` if no such preview waits or the context was edited since, `SessionBusy`, or `Conflict` if an agent
    behind the proxy keeps the context.

    Raises `InvalidRequest` if `text` would make the context grow. The preview then still waits for a shorter text.
    """
    conversation.work.require(Ask.EDIT)
    require_own_context(conversation)
    previews = conversation.guards.previews
    previewed = previews.get(preview_id)
    if previewed is None:
        raise PreviewExpired(f"no preview {preview_id!r} is waiting; ask for a new one")
    summary = previewed.summary
    if text is not None:
        summary = Summary(text=text, ledger=summary.ledger, summarizer="edited")
        grown = -finish(previewed.planned, summary).tokens_saved
        if grown >= 0:
            raise InvalidRequest(f"the edited summary counts {grown:,} tokens more than what it replaces; shorten it")
    planned = previewed.planned
    # The edit is made now, however long the user has read the preview.
    stamp = replace(planned.stamp, timestamp=conversation.workspace.ports.clock.now())
    planned = replace(planned, stamp=stamp)
    done = apply(conversation, planned, finish(planned, summary))
    del previews[preview_id]
    return done


def pin(conversation: Conversation, message_id: str, *, pinned: bool) -> None:
    """Pins a message of the context, or unpins it. Raises `MessageNotFound` and `SessionFollowed`."""
    require_not_kept(conversation)
    if message_id not in conversation.projection.counts:
        raise MessageNotFound(f"no message {message_id!r} in the context; only messages in it can be pinned")
    conversation.record(MessagePinned(message_id=message_id, pinned=pinned))


async def _plan(conversation: Conversation, request: ManualRequest) -> Planned:
    """Returns the plan of the compaction that a user requests. Raises `NothingToCompact`, `MessageNotFound`, or
    `InvalidRequest` if the range ends before it begins."""
    transcript, view = conversation.transcript, conversation.projection.counted_view()
    if request.first_id is None and request.last_id is None:
        staying = firm_in(view, transcript, 0)
        limits = manual_limits(conversation.used, conversation.budget, staying)
        return await plan_within(conversation, limits, EditTrigger.MANUAL, staying=staying)
    first, last = (_place(conversation, view, name) for name in (request.first_id, request.last_id))
    if first is not None and last is not None and first > last:
        numbers = (number_of(view.items[place].index) for place in (first, last))
        raise InvalidRequest("the stretch begins at message #{} and ends at #{}, before it".format(*numbers))
    stretch = find_stretch(view, first, last)
    first_user_id = transcript.first_user_id
    pinned = frozenset(transcript.pinned)
    choose = partial(plan_stretch, view, stretch, transcript.messages, pinned, first_user_id)
    planned = await plan_in_thread(conversation, view, lambda _: choose(), EditTrigger.MANUAL)
    if planned is None:
        raise NothingToCompact(words.nothing_in_stretch(stretch.note))
    return replace(planned, note=stretch.note)


def _place(conversation: Conversation, view: CountedView, message_id: str | None) -> int | None:
    if message_id is None:
        return None
    for place, item in enumerate(view.items):
        if item.message.id == message_id:
            return place
    index = conversation.workspace.ports.store.find_index(conversation.id, message_id)
    name = f"no message {message_id!r}" if index is None else f"message #{number_of(index)} ({message_id}) is not"
    numbers = words.ranges([number_of(item.index) for item in view.items if not item.inserted])
    raise MessageNotFound(f"{name} in the context; only what is in it can be compacted: {numbers}")


def _keep(conversation: Conversation, previewed: Previewed) -> None:
    """Stores a preview until it is committed. Drops those that an edit made invalid, and the oldest above 16."""
    guards = conversation.guards
    waiting = [one for one in guards.previews.values() if one.planned.edits_seen == conversation.edits_seen]
    kept = [*waiting[1 - _MOST_PREVIEWS :], previewed]
    guards.previews = {one.planned.stamp.id: one for one in kept}


def archived_entries(planned: Planned) -> Iterator[Entry]:
    """Yields the messages that a compaction archives."""
    going = {item.message.id for item in planned.plan.head} - planned.plan.stays
    for item, tokens in zip(planned.view.items, planned.view.tokens, strict=True):
        if item.message.id in going:
            yield Entry(message=item.message, index=item.index, tokens=tokens, archived=True)


# A result that uses this share of the budget is good enough. Message groups cannot be divided to use the rest.
_FULL = 0.95
_TRIES, _MORE_TRIES = 5, 3
# Tokens. Messages that are cut to less say too little to be worth their place.
_LEAST = 200
# Tokens of a message's frame and of a cut's notice.
_FRAME = 16
# A share of the room that no block exceeds.
_UNCUT = 1_000.0
# Later tries prefer a tail of whole turns only if the tail then still has this share of its room.
_WHOLE_TURNS = 0.95
# Tokens of the marker's head line and headings that the last try's measurement may miss.
_SLACK = 64


class _Attempt(Struct, frozen=True, kw_only=True):
    """One try to fill the budget: the compaction's limits, the share of the target that one block may take in a message
    that must stay, and the messages that are shortened so that the tail has room for them."""

    limits: CompactionLimits
    block_share: float = BLOCK_SHARE
    shorter: Shorter | None = None


class _Fitting(Struct, frozen=True, kw_only=True):
    """What all tries have in common: the view from which they begin, what is kept whole in it, and the words about what
    the summary must keep."""

    conversation: Conversation
    view: CountedView
    staying: Firm
    focus: str


class _Candidate(Struct, frozen=True, kw_only=True):
    """A compaction that could be applied, with its summary as it was written, after which the context would have
    `after` tokens."""

    attempt: _Attempt
    planned: Planned
    summary: Summary
    after: int


async def fit_budget(conversation: Conversation, budget: int, focus: str = "") -> CompactionEdit | None:
    """Compacts the context to at most `budget` tokens and, if that is not enough, drops the oldest messages and
    shortens the largest blocks, in one transaction. Returns the compaction's edit, None if no compaction was needed or
    possible.

    Raises `CannotFit` if the context would still exceed the budget, before a summary is written if what is pinned and
    the newest message of the user exceed it, `Conflict` if an agent keeps it, and what the summarizer raises. The
    context is then as it was; the log only has what summaries have cost.
    """
    require_own_context(conversation)
    if conversation.used <= budget:
        return None
    view = conversation.projection.counted_view()
    staying = pinned_in(view, conversation.transcript.pinned)
    if view.fixed + staying.tokens > budget:
        raise _too_small(conversation, budget)
    # The tracker's figure may exceed the count of the view. A compaction must make the count smaller, too.
    fitting = _Fitting(conversation=conversation, view=view, staying=staying, focus=focus)
    best = await _best(fitting, min(budget, view.used - 1))
    if isinstance(best, ShortenEdit):
        conversation.record(ContextEdited(edit=best))
        return None
    edit = finish(best.planned, best.summary) if best else None
    if best and edit and compaction_block(edit).context_size_after <= budget:
        return apply(conversation, best.planned, edit).edit
    after = conversation.imagine(*edits_of(best.planned, edit)) if best and edit else conversation
    cuts = edits_to_fit(after, budget) if after.used > budget else ()
    if cuts is None or (after.imagine(*cuts) if cuts else after).used > budget:
        raise _too_small(after, budget)
    if best and edit:
        return apply(conversation, best.planned, edit, cuts).edit
    conversation.record(*cuts)
    return None


def _too_small(conversation: Conversation, budget: int) -> CannotFit:
    held, parts = too_large(conversation, budget)
    return CannotFit(
        f"a budget of {budget:,} tokens is too small: what must stay counts {held:,} even when cut down{alone(parts)}"
    )


async def _best(fitting: _Fitting, budget: int) -> _Candidate | ShortenEdit | None:
    """Returns the compaction that fills the budget best, or an edit that makes it needless; None without either."""
    tried = await _tries(fitting, budget)
    if not tried:
        # Nothing can be archived, or nothing needs to be once the last messages are shortened.
        last = fitting.view.groups[-1:]
        return _shortened(fitting, {fitting.view.messages[place].id for group in last for place in group}, budget)
    best = max(tried, key=lambda candidate: _rank(candidate, budget))
    for find in (_cut_to_stay, _before_tail):
        # Where the best try keeps old messages, the last may have none before its tail.
        for one in (best, tried[-1]):
            if best.after >= budget * _FULL:
                return best
            if (shorter := find(one, budget)) is None:
                continue
            if edit := _instead(fitting, one, shorter, budget):
                return edit
            said = one.after - one.planned.plan.used_without_marker
            limits = replace(
                one.attempt.limits, summary=max(said, MARKER_MIN) + _FRAME, keep_old=one.planned.plan.old_tokens
            )
            share = _UNCUT if find is _cut_to_stay else one.attempt.block_share
            more = await _try_again(fitting, _Attempt(limits=limits, block_share=share, shorter=shorter), budget)
            best = max(more or best, best, key=lambda candidate: _rank(candidate, budget))
            break
    return best


async def _tries(fitting: _Fitting, budget: int) -> list[_Candidate]:
    attempt = _Attempt(
        limits=CompactionLimits(target=budget, keep_tail=budget, summary=budget, keep_old=keep_old(budget))
    )
    tail = -1
    tried: list[_Candidate] = []
    while len(tried) < _TRIES and (found := await _try(fitting, attempt)) is not None:
        tried.append(found)
        following = _next(attempt, found, budget, tail_grew=found.planned.plan.end != tail)
        tail = found.planned.plan.end
        if budget * _FULL <= found.after <= budget or following == attempt:
            break
        attempt = following
    return tried


async def _try_again(fitting: _Fitting, attempt: _Attempt, budget: int) -> _Candidate | None:
    """Returns a try, or one of the next two if that is better: with a lower target if the last was too large, with more
    old messages if much of the budget is left. Returns None if nothing can be compacted."""
    best: _Candidate | None = None
    for _ in range(_MORE_TRIES):
        found = await _try(fitting, attempt)
        if found is None:
            break
        if best is None or _rank(found, budget) > _rank(best, budget):
            best = found
        if budget * _FULL <= found.after <= budget:
            break
        attempt = _next(attempt, found, budget, tail_grew=False)
    return best


async def _try(fitting: _Fitting, attempt: _Attempt) -> _Candidate | None:
    conversation, focus = fitting.conversation, fitting.focus
    try:
        planned = await plan_within(
            conversation,
            attempt.limits,
            EditTrigger.MANUAL,
            block_share=attempt.block_share,
            shorter=attempt.shorter,
            staying=fitting.staying,
            view=fitting.view,
        )
    except NothingToCompact:
        return None
    # Message groups seldom fill the tail's room exactly. The summary may use what they leave.
    planned = replace(planned, plan=replace(planned.plan, summary_tokens=planned.plan.room))
    request = await summary_request(conversation, planned, focus)
    summary = await write_with_fallbacks(conversation, planned, request, focus)
    # Only what is applied is looked through for secrets and private text.
    edit = finish_compaction(planned.plan, planned.view, planned.stamp, summary, planned.number)
    after = compaction_block(edit).context_size_after
    return _Candidate(attempt=attempt, planned=planned, summary=summary, after=after)


def _rank(candidate: _Candidate, budget: int) -> tuple[bool, int]:
    """Returns a value by which candidates are compared; the largest is best. One that fits the budget is better than
    one that does not; of two that fit, or do not, the one closer to the budget is better."""
    fits = candidate.after <= budget
    return fits, candidate.after if fits else -candidate.after


def _left_by(found: _Candidate, budget: int) -> int:
    """Returns the tokens of the budget that a try leaves to messages, if its summary stays as long as it is."""
    said = found.after - found.planned.plan.used_without_marker
    return budget - found.after - 2 * _FRAME - max(0, MARKER_MIN - said)


def _cut_to_stay(found: _Candidate, budget: int) -> Shorter | None:
    """Returns how messages that stay are shortened so that they take what the try leaves. None if it shortened none."""
    ids = frozenset(part.message_id for edit in found.planned.cuts for part in edit.replacements)
    tokens = found.planned.view.size(ids) + _left_by(found, budget)
    return Shorter(messages=ids, tokens=tokens) if ids and _left_by(found, budget) > 0 else None


def _before_tail(found: _Candidate, budget: int) -> Shorter | None:
    """Returns how the messages before the tail are shortened, if need be, so that they fit into what the try leaves.
    Returns None if there are none, or if too little would be left of them."""
    view, plan = found.planned.view, found.planned.plan
    ends = [group for group in view.groups if view.items[group.stop - 1].index < plan.end]
    group = ends[-1] if ends else range(0)
    ids = frozenset(view.messages[place].id for place in group)
    tokens, size = _left_by(found, budget), view.size(ids)
    if not ids or not ids.isdisjoint(plan.stays) or tokens < min(_LEAST, size):
        return None
    return Shorter(messages=ids, tokens=tokens)


def _instead(fitting: _Fitting, found: _Candidate, shorter: Shorter, budget: int) -> ShortenEdit | None:
    """Returns the edit that shortens messages and makes a summary needless: all messages then fit. None if the summary
    would stand for others as well."""
    going = {item.message.id for item in found.planned.plan.head} - found.planned.plan.stays
    if found.planned.plan.previous or not going <= shorter.messages:
        return None
    cut = (part.message_id for edit in found.planned.cuts for part in edit.replacements)
    return _shortened(fitting, {*shorter.messages, *cut}, budget)


def _shortened(fitting: _Fitting, messages: Collection[str], budget: int) -> ShortenEdit | None:
    """Returns the edit that makes all messages fit by shortening those with these ids, None if that is not enough."""
    view = fitting.view
    others = {message.id for message in view.messages}.difference(messages) | fitting.staying.ids
    edit = shorten(view, budget, fitting.conversation.workspace.new_stamp(EditTrigger.MANUAL), others)
    return edit if edit and view.used - edit.tokens_saved <= budget else None


def _next(attempt: _Attempt, found: _Candidate, budget: int, *, tail_grew: bool) -> _Attempt:
    """Returns the limits of the next try. If the result was too large, the target is lower. Otherwise blocks that stay
    and the tail get more room, and so do the messages that are shortened, or else old messages if the last try did not
    make the tail longer (`tail_grew`)."""
    limits = attempt.limits
    if found.after > budget:
        over = found.after - budget
        shorter = attempt.shorter and replace(attempt.shorter, tokens=max(0, attempt.shorter.tokens - over))
        return replace(attempt, limits=replace(limits, target=limits.target - over), shorter=shorter)
    said = found.after - found.planned.plan.used_without_marker
    cut = sum(len(edit.replacements) for edit in found.planned.cuts)
    more = (budget - found.after) / budget / cut if cut else 0.0
    old, shorter, left = found.planned.plan.old_tokens, attempt.shorter, max(0, budget - found.after - _SLACK)
    if shorter:
        # With these messages in the context the summary has less to say.
        shorter = replace(shorter, tokens=shorter.tokens + max(0, left - 2 * _FRAME))
    elif keep_old(budget) and not tail_grew:
        # At first no room for old messages means that the summary needs all of it.
        old += left
    return _Attempt(
        limits=replace(limits, summary=said + _SLACK, keep_old=old, whole_turns=_WHOLE_TURNS),
        block_share=attempt.block_share + more,
        shorter=shorter,
    )
