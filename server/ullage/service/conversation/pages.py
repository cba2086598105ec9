"""Pages of messages: of the context, or of the whole transcript."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.inserted import is_by_agent
from ullage.model.events import MessageAppended, Record
from ullage.model.message import Message
from ullage.service.conversation.conversation import Conversation
from ullage.transcript.fold import compaction_edits
from ullage.transcript.view import Item


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message in a page. `index` is its index in the transcript. `tokens` is its calibrated count in the context, 0
    if it is archived. `inserted` is true for markers and notices, which an edit put into the view. `by_agent` is true
    for a message with the user's role that the agent's program wrote: a reminder, a command's output, a summary."""

    message: Message
    index: int
    tokens: int = 0
    archived: bool = False
    pinned: bool = False
    inserted: bool = False
    by_agent: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """Some messages of the view or of the transcript. `total` is the number of all its messages, markers included, not
    only of this page."""

    entries: tuple[Entry, ...]
    total: int


async def view_page(conversation: Conversation, offset: int, limit: int | None) -> Page:
    """Returns at most `limit` messages of the view after the first `offset`; None means up to the end. Waits for a run
    of automatic management first."""
    await conversation.settled()
    items = conversation.transcript.items
    stop = None if limit is None else offset + limit
    return Page(entries=tuple(_view_entries(conversation, items[offset:stop])), total=len(items))


def transcript_page(conversation: Conversation, offset: int, limit: int | None) -> Page:
    """Returns at most `limit` messages of the transcript after the first `offset`, archived ones included; None means
    up to the end. The marker of each compaction in force is listed after the messages that it archived.

    Only the messages of the page are read from the store.
    """
    store = conversation.workspace.ports.store
    messages = conversation.transcript.messages
    # An imported file can hold an edit of more messages than there are. It archives all there are.
    markers = {min(edit.end, messages): edit.marker for edit in compaction_edits(store.read_edits(conversation.id))}
    # A marker comes before the message at its cut, so all later messages move on by one place.
    places = {end + rank: end for rank, end in enumerate(sorted(markers))}
    total = messages + len(markers)
    stop = total if limit is None else min(total, offset + limit)
    first, last = (at - sum(place < at for place in places) for at in (offset, stop))
    read = iter(read_entries(conversation, first, last))
    entries = (
        Entry(message=markers[places[place]], index=places[place], inserted=True) if place in places else next(read)
        for place in range(offset, stop)
    )
    return Page(entries=tuple(entries), total=total)


def read_entries(conversation: Conversation, start: int, stop: int) -> tuple[Entry, ...]:
    """Returns the appended messages of the session with `start <= index < stop`, archived or not."""
    records = conversation.workspace.ports.store.read_messages(conversation.id, start, stop)
    return tuple(_transcript_entry(conversation, index, record) for index, record in enumerate(records, start))


def _view_entries(conversation: Conversation, items: Sequence[Item]) -> Iterator[Entry]:
    pinned = conversation.transcript.pinned
    for item, tokens in zip(items, conversation.projection.tokens_of(items), strict=True):
        yield Entry(
            message=item.message,
            index=item.index,
            tokens=tokens,
            pinned=item.message.id in pinned,
            inserted=item.inserted,
            by_agent=not item.inserted and is_by_agent(item.message),
        )


def _transcript_entry(conversation: Conversation, index: int, record: Record) -> Entry:
    if not isinstance(record.event, MessageAppended):
        raise TypeError(f"the store gave a {type(record.event).__name__} for a message")
    message, projection = record.event.message, conversation.projection
    counted = projection.counts.get(message.id)
    return Entry(
        message=message,
        index=index,
        tokens=projection.tracker.scale(counted.total) if counted else 0,
        archived=counted is None,
        pinned=message.id in projection.transcript.pinned,
        by_agent=is_by_agent(message),
    )
