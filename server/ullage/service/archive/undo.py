"""A session's edits: the list of them, and taking them back.

An edit that is taken back counts as if it had never been made, wherever it stands: the projection is that of the log
without it. Later edits stay as they are. A later compaction that covers the same messages thus keeps them archived,
under the summary that was written then; taking that one back, too, brings them into the context.

Whatever was taken back can be put back: `restore` goes to any checkpoint, also one before an undo.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ullage.model import words
from ullage.model.edits import CompactionEdit, DropEdit, Edit
from ullage.model.errors import EditNotFound, NothingToUndo
from ullage.model.events import ContextEdited, EditReverted, Record
from ullage.service.compact.run import require_own_context
from ullage.service.conversation.checkpoints import Checkpoint, edits_at, edits_in_force
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.work import Ask
from ullage.transcript.fold import EditInfo


class HistoryEntry(EditInfo, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An edit as read by people: `words` say what it did, to how many `messages`; sizes are tokens of the whole context
    around it, 0 where they are not known. `position` is its place in the log; `revertedAt` is Unix milliseconds."""

    position: int
    words: str
    messages: int
    context_size_before: int = 0
    context_size_after: int = 0
    reverted_at: int | None = None


class Reverted(Struct, frozen=True, kw_only=True):
    """What reverting edits, or putting them back, did or would do: the edits as they are after it, the conversation as
    it is then, and how many more messages are in its context (negative if edits count again)."""

    edits: tuple[EditInfo, ...]
    conversation: Conversation
    messages_back: int


def history(conversation: Conversation) -> tuple[HistoryEntry, ...]:
    """Every edit ever, oldest first, reverted ones marked."""
    records = conversation.workspace.ports.store.read_edits(conversation.id)
    infos = {info.id: info for info in conversation.transcript.edits}
    reverted_at = {
        event.edit_id: event.timestamp or record.timestamp
        for record in records
        if isinstance(event := record.event, EditReverted)
    }
    return tuple(
        _entry(record, event.edit, infos[event.edit.id], reverted_at.get(event.edit.id))
        for record in records
        if isinstance(event := record.event, ContextEdited)
    )


def undo(conversation: Conversation, edit_id: str | None, *, dry_run: bool = False) -> Reverted:
    """Takes an edit back, the last one in force unless named, with all that was done in the same action.

    With `dry_run` nothing happens. Raises `NothingToUndo`, `EditNotFound`, `SessionBusy`.
    """
    _require_rest(conversation)
    in_force = conversation.transcript.edits_in_force
    if not in_force:
        raise NothingToUndo(f"no edit of session {conversation.id} is in force")
    edit = in_force[-1] if edit_id is None else _find(in_force, edit_id)
    together = [other.id for other in in_force if _action(other) == _action(edit)]
    return _change(conversation, together, (), dry_run=dry_run)


def restore(conversation: Conversation, checkpoint: Checkpoint, *, dry_run: bool = False) -> Reverted:
    """Goes back to a checkpoint: edits made after it are taken back, edits taken back after it count again. Messages
    and pins stay. If nothing is to be done the result is empty; with `dry_run` nothing happens.

    Raises `EditNotFound`, `MessageNotFound`, `InvalidRequest`, `SessionBusy`.
    """
    _require_rest(conversation)
    store = conversation.workspace.ports.store
    then = edits_at(store, conversation.id, checkpoint)
    now = edits_in_force(store.read_edits(conversation.id))
    back = [edit_id for edit_id in now if edit_id not in then]
    again = [edit_id for edit_id in then if edit_id not in now]
    return _change(conversation, back, again, dry_run=dry_run)


def _change(conversation: Conversation, back: Collection[str], again: Collection[str], *, dry_run: bool) -> Reverted:
    now = conversation.workspace.ports.clock.now()
    events = [
        *(EditReverted(edit_id=edit_id, timestamp=now) for edit_id in back),
        *(EditReverted(edit_id=edit_id, reverted=False, timestamp=now) for edit_id in again),
    ]
    active, after = conversation.transcript.active, conversation
    if dry_run:
        after = conversation.imagine(*events)
    elif events:
        conversation.record(*events)
    changed = {*back, *again}
    return Reverted(
        edits=tuple(edit for edit in after.transcript.edits if edit.id in changed),
        conversation=after,
        messages_back=after.transcript.active - active,
    )


def _require_rest(conversation: Conversation) -> None:
    conversation.work.require(Ask.EDIT)
    require_own_context(conversation)


def _action(edit: EditInfo) -> str:
    return edit.part_of or edit.id


def _find(edits: Sequence[EditInfo], edit_id: str) -> EditInfo:
    for edit in edits:
        if edit.id == edit_id:
            return edit
    raise EditNotFound(f"no edit {edit_id!r} is in force; context/history lists them")


def _entry(record: Record, edit: Edit, info: EditInfo, reverted_at: int | None) -> HistoryEntry:
    return HistoryEntry(
        id=edit.id,
        kind=info.kind,
        timestamp=edit.timestamp,
        trigger=edit.trigger,
        tokens_saved=edit.tokens_saved,
        reverted=info.reverted,
        part_of=edit.part_of,
        position=record.position,
        words=words.edited(edit),
        messages=_messages(edit),
        context_size_before=edit.context_size_before,
        context_size_after=max(0, edit.context_size_before - edit.tokens_saved),
        reverted_at=reverted_at if info.reverted else None,
    )


def _messages(edit: Edit) -> int:
    match edit:
        case CompactionEdit(marker=marker):
            return marker.compaction.messages_archived if marker.compaction else 0
        case DropEdit(message_ids=ids):
            return len(ids)
        case _:
            return len({replacement.message_id for replacement in edit.replacements})
