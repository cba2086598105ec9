"""What can be done with a session's context: look at it, compact it, take that back."""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ullage.edits.compaction import Summary
from ullage.model.edits import EditTrigger, compaction_block
from ullage.model.errors import InvalidRequest, MessageNotFound, PreviewExpired
from ullage.model.events import MessageAppended, MessagePinned, Record
from ullage.model.message import Message
from ullage.service.compact.asked import Asked, plan_asked
from ullage.service.compact.automatic import look_after, settled
from ullage.service.compact.hooks import Heard
from ullage.service.compact.run import (
    Compacted,
    Planned,
    apply_and_tell,
    finish,
    prepare,
    require_rest,
)
from ullage.service.compact.tries import compact_somehow, write_somehow
from ullage.service.conversation.session import Previewed, Session
from ullage.service.conversation.workspace import Workspace
from ullage.transcript.fold import compaction_edits
from ullage.transcript.view import Item

# A summary and a view each: a client that never commits must not fill the memory.
_MOST_PREVIEWS = 16


class Entry(Struct, frozen=True, kw_only=True):
    """A message as listed: its place, its tokens in the context (0 if archived) and how it stands."""

    message: Message
    index: int
    tokens: int = 0
    archived: bool = False
    pinned: bool = False
    inserted: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """Some of the messages, and how many there are in all, markers included."""

    entries: tuple[Entry, ...]
    total: int


class Preview(Struct, frozen=True, kw_only=True):
    """What a compaction would do. `id` commits it; `note` says what is not as asked."""

    id: str
    summary: Summary
    archived: tuple[Entry, ...]
    context_size_before: int
    context_size_after: int
    note: str


async def view_page(workspace: Workspace, session_id: str, offset: int, limit: int | None) -> Page:
    """A stretch of the context as the model would be sent it, once any automatic run is through."""
    session = await settled(workspace, session_id)
    items = session.transcript.items
    stop = None if limit is None else offset + limit
    return Page(entries=tuple(_view_entries(session, items[offset:stop])), total=len(items))


def transcript_page(workspace: Workspace, session_id: str, offset: int, limit: int | None) -> Page:
    """A stretch of everything ever said, archived or not, with the markers of compactions in force where they cut.

    Costs what the page costs, however long the session is.
    """
    session, store = workspace.session(session_id), workspace.ports.store
    markers = {edit.end: edit.marker for edit in compaction_edits(store.read_edits(session_id))}
    # A marker stands before the message it cuts at, and moves everything behind it on by one.
    places = {end + rank: end for rank, end in enumerate(sorted(markers))}
    total = session.transcript.messages + len(markers)
    stop = total if limit is None else min(total, offset + limit)
    first, last = (at - sum(place < at for place in places) for at in (offset, stop))
    messages = iter(read_entries(workspace, session_id, first, last))
    entries = (
        Entry(message=markers[places[place]], index=places[place], inserted=True) if place in places else next(messages)
        for place in range(offset, stop)
    )
    return Page(entries=tuple(entries), total=total)


def read_entries(workspace: Workspace, session_id: str, start: int, stop: int) -> tuple[Entry, ...]:
    """The messages with `start <= index < stop` of those ever appended, archived or not."""
    session = workspace.session(session_id)
    records = workspace.ports.store.read_messages(session_id, start, stop)
    return tuple(_transcript_entry(session, index, record) for index, record in enumerate(records, start))


async def compact_by_hand(workspace: Workspace, session_id: str, asked: Asked) -> Compacted:
    """Compacts now. Raises `NothingToCompact`, `MessageNotFound`, `SessionBusy`, and `ProviderError` where no summary
    could be had."""
    session = await settled(workspace, session_id)
    require_rest(workspace, session_id)
    make_plan = partial(plan_asked, workspace, session, asked)
    done = await compact_somehow(workspace, session_id, make_plan, EditTrigger.MANUAL, asked.focus)
    # What was appended while the summary was written may have filled the context again.
    look_after(workspace, workspace.session(session_id))
    return done


async def preview(workspace: Workspace, session_id: str, asked: Asked) -> Preview:
    """What `compact_by_hand` would do, with the summary written but nothing applied. Several may wait at once."""
    session = await settled(workspace, session_id)
    require_rest(workspace, session_id)
    planned = await plan_asked(workspace, session, asked)
    planned, request = await prepare(workspace, planned, asked.focus, Heard(), dry_run=True)
    summary = await write_somehow(workspace, planned, request, asked.focus)
    _keep(workspace.session(session_id), Previewed(planned=planned, summary=summary))
    edit = finish(workspace, planned, summary)
    return Preview(
        id=planned.stamp.id,
        summary=summary,
        archived=tuple(_archived_entries(planned)),
        context_size_before=planned.plan.used_before,
        context_size_after=compaction_block(edit).context_size_after,
        note=planned.note,
    )


def commit(workspace: Workspace, session_id: str, preview_id: str, text: str | None) -> Compacted:
    """Applies a preview, with the person's own words for the summary if given. Raises `PreviewExpired`,
    `SessionBusy`.

    Raises `InvalidRequest` for words that make the context grow; the preview then waits for shorter ones.
    """
    require_rest(workspace, session_id)
    session = workspace.session(session_id)
    previewed = session.previews.get(preview_id)
    if previewed is None:
        raise PreviewExpired(f"no preview {preview_id!r} is waiting; ask for a new one")
    summary = previewed.summary
    if text is not None:
        summary = Summary(text=text, ledger=summary.ledger, summarizer="edited")
        _require_smaller(workspace, previewed.planned, summary)
    del session.previews[preview_id]
    return apply_and_tell(workspace, previewed.planned, summary)


def pin(workspace: Workspace, session_id: str, message_id: str, *, pinned: bool) -> Session:
    """Keeps a message verbatim through every edit, or no longer. Raises `MessageNotFound`."""
    session = workspace.session(session_id)
    if message_id not in session.counts:
        raise MessageNotFound(f"no message {message_id!r} in the context; only messages in it can be pinned")
    return workspace.record(session, MessagePinned(message_id=message_id, pinned=pinned))


def _keep(session: Session, previewed: Previewed) -> None:
    """Keeps a preview until it is committed or outdated; the oldest goes where too many wait."""
    waiting = [other for other in session.previews.values() if other.planned.edits_seen == session.edits_seen]
    kept = [*waiting[1 - _MOST_PREVIEWS :], previewed]
    session.previews = {one.planned.stamp.id: one for one in kept}


def _require_smaller(workspace: Workspace, planned: Planned, summary: Summary) -> None:
    """A compaction that makes the context grow helps nobody."""
    grown = -finish(workspace, planned, summary).tokens_saved
    if grown >= 0:
        raise InvalidRequest(f"the edited summary counts {grown:,} tokens more than what it replaces; shorten it")


def _view_entries(session: Session, items: Sequence[Item]) -> Iterator[Entry]:
    pinned = session.transcript.pinned
    for item, tokens in zip(items, session.tokens_of(items), strict=True):
        yield Entry(
            message=item.message,
            index=item.index,
            tokens=tokens,
            pinned=item.message.id in pinned,
            inserted=item.inserted,
        )


def _transcript_entry(session: Session, index: int, record: Record) -> Entry:
    if not isinstance(record.event, MessageAppended):
        raise TypeError(f"the store gave a {type(record.event).__name__} for a message")
    message = record.event.message
    counted = session.counts.get(message.id)
    return Entry(
        message=message,
        index=index,
        tokens=session.tracker.scale(counted.total) if counted else 0,
        archived=counted is None,
        pinned=message.id in session.transcript.pinned,
    )


def _archived_entries(planned: Planned) -> Iterator[Entry]:
    going = {item.message.id for item in planned.plan.head} - planned.plan.stays
    for item, tokens in zip(planned.view.items, planned.view.tokens, strict=True):
        if item.message.id in going:
            yield Entry(message=item.message, index=item.index, tokens=tokens, archived=True)
