"""The edits of a session: listing, undoing and redoing them.

An undone edit counts as if it had never been made, wherever it is in the log: the view is computed without it. Later
edits stay in force. A later compaction that covers the same messages therefore keeps them archived, with the summary
that was written then. If that compaction is undone too, the messages are back in the context.

`restore` redoes edits: it can go to any checkpoint, also to one before an undo.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ullage.model import words
from ullage.model.errors import EditNotFound, NothingToUndo
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    DropEdit,
    DuplicateReadsEdit,
    Edit,
    EditReverted,
    Record,
    RepeatedFile,
    RewindEdit,
)
from ullage.service.compact.run import require_own_context
from ullage.service.conversation.conversation import Checkpoint, Conversation, edits_at, edits_in_force
from ullage.service.conversation.work import Ask
from ullage.transcript.fold import EditInfo


class HistoryEntry(EditInfo, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An edit as the user sees it in a list.

    `words` say what the edit did, to how many `messages`. Sizes are tokens of the whole context before and after the
    edit, 0 if unknown. `position` is the edit's place in the log. `revertedAt` is the time of its undo in Unix
    milliseconds, null if it is in force. `files` are those whose repeated reads it replaced, with the tokens that this
    saved.
    """

    position: int
    words: str
    messages: int
    context_size_before: int = 0
    context_size_after: int = 0
    reverted_at: int | None = None
    files: tuple[RepeatedFile, ...] = ()


class Reverted(Struct, frozen=True, kw_only=True):
    """The result of undoing or redoing edits. `edits` are the changed edits with their new state. `conversation` is the
    conversation after the change (in a dry run, as it would be). `messages_back` is the number of messages that came
    back into the context; it is negative if redone edits removed more."""

    edits: tuple[EditInfo, ...]
    conversation: Conversation
    messages_back: int


def history(conversation: Conversation) -> tuple[HistoryEntry, ...]:
    """Returns all edits of the session in the order of the log. Undone edits are marked."""
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
    """Undoes the edit `edit_id`, or the last edit in force, together with all edits of the same action.

    With `dry_run` nothing is recorded. Raises `NothingToUndo`, `EditNotFound`, `SessionBusy`, or `Conflict` if an agent
    keeps the context, behind the proxy or in its own file.
    """
    _require_rest(conversation)
    in_force = conversation.transcript.edits_in_force
    if not in_force:
        raise NothingToUndo("there is nothing to undo: no compaction or clearing of this session is in force")
    edit = in_force[-1] if edit_id is None else _find(in_force, edit_id)
    together = [other.id for other in in_force if _action(other) == _action(edit)]
    return _change(conversation, _reverted(conversation, together), dry_run=dry_run)


def restore(conversation: Conversation, checkpoint: Checkpoint, *, dry_run: bool = False) -> Reverted:
    """Makes the edits in force what they were at a checkpoint: undoes edits made since then, and redoes edits undone
    since then. Messages and pins stay. If nothing has to change, the result has no edits. With `dry_run` nothing is
    recorded.

    Raises `EditNotFound`, `MessageNotFound`, `InvalidRequest`, `SessionBusy`, or `Conflict` if an agent keeps the
    context, behind the proxy or in its own file.
    """
    return _change(conversation, restoring(conversation, checkpoint), dry_run=dry_run)


def restoring(conversation: Conversation, checkpoint: Checkpoint) -> tuple[EditReverted, ...]:
    """Returns the events that `restore` records. Raises what it raises."""
    _require_rest(conversation)
    store = conversation.workspace.ports.store
    then = edits_at(store, conversation.id, checkpoint)
    now = edits_in_force(store.read_edits(conversation.id))
    back = [edit_id for edit_id in now if edit_id not in then]
    return _reverted(conversation, back, [edit_id for edit_id in then if edit_id not in now])


def _reverted(
    conversation: Conversation, back: Collection[str], again: Collection[str] = ()
) -> tuple[EditReverted, ...]:
    now = conversation.workspace.ports.clock.now()
    return (
        *(EditReverted(edit_id=edit_id, timestamp=now) for edit_id in back),
        *(EditReverted(edit_id=edit_id, reverted=False, timestamp=now) for edit_id in again),
    )


def _change(conversation: Conversation, events: Sequence[EditReverted], *, dry_run: bool) -> Reverted:
    active, after = conversation.transcript.active, conversation
    if dry_run:
        after = conversation.imagine(*events)
    elif events:
        conversation.record(*events)
    changed = {event.edit_id for event in events}
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
    before, after = _sizes(edit)
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
        context_size_before=before,
        context_size_after=after,
        reverted_at=reverted_at if info.reverted else None,
        files=edit.files if isinstance(edit, DuplicateReadsEdit) else (),
    )


def _sizes(edit: Edit) -> tuple[int, int]:
    """Returns the tokens before and after an edit, 0 if unknown; of an imported compaction as its marker says."""
    if edit.context_size_before:
        return edit.context_size_before, max(0, edit.context_size_before - edit.tokens_saved)
    block = edit.marker.compaction if isinstance(edit, CompactionEdit) else None
    return (block.context_size_before, block.context_size_after) if block else (0, 0)


def _messages(edit: Edit) -> int:
    match edit:
        case CompactionEdit(marker=marker):
            return marker.compaction.messages_archived if marker.compaction else 0
        case DropEdit(message_ids=ids) | RewindEdit(message_ids=ids):
            return len(ids)
        case _:
            return len({replacement.message_id for replacement in edit.replacements})
