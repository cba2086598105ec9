"""The edits that a user makes by hand: compacting, previewing and committing a compaction, and pinning messages."""

from collections.abc import Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import Summary, find_stretch, plan_stretch
from ullage.edits.counted import CountedView
from ullage.model import words
from ullage.model.edits import EditTrigger, compaction_block
from ullage.model.errors import InvalidRequest, MessageNotFound, NothingToCompact, PreviewExpired
from ullage.model.events import MessagePinned
from ullage.model.message import number_of
from ullage.service.compact.run import (
    Compacted,
    PreCompactHook,
    apply,
    brief,
    compact_with_fallbacks,
    require_own_context,
    write_with_fallbacks,
)
from ullage.service.conversation.conversation import Conversation, Planned, Previewed
from ullage.service.conversation.pages import Entry
from ullage.service.conversation.usage import require_not_kept
from ullage.service.conversation.work import Ask
from ullage.service.plan import finish, firm_in, manual_limits, plan_in_thread, plan_within

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


async def compact_by_hand(conversation: Conversation, request: ManualRequest) -> Compacted:
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
    edit = finish(conversation, planned, summary)
    return Preview(
        id=planned.stamp.id,
        summary=summary,
        archived=tuple(_archived_entries(planned)),
        context_size_before=planned.plan.used_before,
        context_size_after=compaction_block(edit).context_size_after,
        note=planned.note,
    )


def commit(conversation: Conversation, preview_id: str, text: str | None) -> Compacted:
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
        _require_smaller(conversation, previewed.planned, summary)
    planned = previewed.planned
    # The edit is made now, however long the user has read the preview.
    stamp = replace(planned.stamp, timestamp=conversation.workspace.ports.clock.now())
    done = apply(conversation, replace(planned, stamp=stamp), summary)
    del previews[preview_id]
    return done


def pin(conversation: Conversation, message_id: str, *, pinned: bool) -> None:
    """Pins a message of the context, or unpins it. Raises `MessageNotFound` if the message is not in the context.
    Raises `SessionFollowed`."""
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
    """Stores a preview until it is committed. Previews that an edit made invalid are dropped, and the oldest if there
    are more than 16."""
    guards = conversation.guards
    waiting = [one for one in guards.previews.values() if one.planned.edits_seen == conversation.edits_seen]
    kept = [*waiting[1 - _MOST_PREVIEWS :], previewed]
    guards.previews = {one.planned.stamp.id: one for one in kept}


def _require_smaller(conversation: Conversation, planned: Planned, summary: Summary) -> None:
    """Raises `InvalidRequest` if the compaction would not make the context smaller."""
    grown = -finish(conversation, planned, summary).tokens_saved
    if grown >= 0:
        raise InvalidRequest(f"the edited summary counts {grown:,} tokens more than what it replaces; shorten it")


def _archived_entries(planned: Planned) -> Iterator[Entry]:
    going = {item.message.id for item in planned.plan.head} - planned.plan.stays
    for item, tokens in zip(planned.view.items, planned.view.tokens, strict=True):
        if item.message.id in going:
            yield Entry(message=item.message, index=item.index, tokens=tokens, archived=True)
