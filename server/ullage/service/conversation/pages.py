"""Pages of messages: of the context, or of the whole transcript.

Checkpoints: places in a session's log that a user can restore or fork from, and the names a user may give them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from ullage.agents.inserted import is_by_agent
from ullage.model.edits import CompactionEdit, DropEdit, Edit
from ullage.model.errors import EditNotFound, InvalidRequest, MessageNotFound
from ullage.model.events import ContextEdited, EditReverted, MessageAppended, Record
from ullage.model.message import Message
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.store import SessionStore
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


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A place in a session's log that a user can restore or fork from. Exactly one field is set.

    `position`: a position in the log. `edit_id`: the place after an edit and all edits of the same action.
    `message_id`: the place after a message; archived messages, markers and notices count, too. `timestamp`: a time, in
    Unix milliseconds or ISO 8601 (UTC if the text names no zone).
    """

    position: int | None = None
    edit_id: str | None = None
    message_id: str | None = None
    timestamp: int | str | None = None


def edits_at(store: SessionStore, session_id: str, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Returns the ids of the edits that were in force at a checkpoint, oldest first.

    If the checkpoint is a time, edits and undos count by their own timestamps, so that an imported transcript keeps its
    old history. Raises `EditNotFound`, `MessageNotFound` or `InvalidRequest`.
    """
    records = store.read_edits(session_id)
    if checkpoint.timestamp is not None:
        until = read_time(checkpoint.timestamp)
        return edits_in_force(record for record in records if _happened(record) <= until)
    position = position_of(store, session_id, checkpoint)
    places = _places(records)
    return edits_in_force(record for record in records if places.get(record.position, record.position) <= position)


def position_of(store: SessionStore, session_id: str, checkpoint: Checkpoint) -> int:
    """Returns the log position of a checkpoint that is not a time. Raises `EditNotFound`, `MessageNotFound` or
    `InvalidRequest`."""
    if checkpoint.edit_id is not None:
        return _position_of_edit(store.read_edits(session_id), checkpoint.edit_id)
    if checkpoint.message_id is not None:
        return _position_of_message(store, session_id, checkpoint.message_id)
    if checkpoint.position is None:
        raise InvalidRequest("a checkpoint needs a position, an edit, a message or a time")
    return checkpoint.position


def edits_in_force(records: Iterable[Record]) -> tuple[str, ...]:
    """Returns the ids of the edits that these records make and do not undo, oldest first."""
    made: dict[str, bool] = {}
    for record in records:
        match record.event:
            case ContextEdited(edit=edit):
                made[edit.id] = True
            case EditReverted(edit_id=edit_id, reverted=reverted):
                made[edit_id] = not reverted
            case _:
                pass
    return tuple(edit_id for edit_id, counts in made.items() if counts)


def read_time(timestamp: int | str) -> int:
    """Returns a time as Unix milliseconds. A text must be ISO 8601, without a zone in UTC. Raises `InvalidRequest` for
    another text."""
    if isinstance(timestamp, int):
        return timestamp
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        raise InvalidRequest(
            f"{timestamp!r} is no time; write Unix milliseconds or ISO 8601 (2026-11-20T09:30:00Z)"
        ) from None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def _happened(record: Record) -> int:
    event = record.event
    own = event.edit.timestamp if isinstance(event, ContextEdited) else 0
    own = event.timestamp if isinstance(event, EditReverted) else own
    return own or record.timestamp


def _places(records: Collection[Record]) -> dict[int, int]:
    """Returns, for the log position of each edit, the position of the last edit of the same action."""
    edits = {record.position: record.event.edit for record in records if isinstance(record.event, ContextEdited)}
    last = {edit.id: position for position, edit in edits.items()}
    return {position: last.get(edit.part_of or edit.id, position) for position, edit in edits.items()}


def _position_of_edit(records: Collection[Record], edit_id: str) -> int:
    places = _places(records)
    for record in records:
        if isinstance(record.event, ContextEdited) and record.event.edit.id == edit_id:
            return places[record.position]
    raise EditNotFound(f"no edit {edit_id!r} was ever made in this session; context/history lists them")


def _position_of_message(store: SessionStore, session_id: str, message_id: str) -> int:
    found = store.find_message(session_id, message_id)
    if found is not None:
        return found.position
    for record in store.read_edits(session_id):
        if isinstance(record.event, ContextEdited) and _inserted(record.event.edit) == message_id:
            return record.position
    raise MessageNotFound(f"no message {message_id!r} in this session; context/messages lists their ids")


def _inserted(edit: Edit) -> str | None:
    """Returns the id of the marker or notice that an edit puts into the view, or None."""
    match edit:
        case CompactionEdit(marker=message) | DropEdit(notice=message):
            return message.id
        case _:
            return None
