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
from ullage.service.compact.run import require_rest
from ullage.service.conversation.checkpoints import Checkpoint, edits_at, edits_in_force
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace
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
    """What taking edits back, or putting them back, did or would do: the edits as they are after it, the session as it
    is then, and how many messages are in its context again (fewer than none where edits count again)."""

    edits: tuple[EditInfo, ...]
    session: Session
    messages_back: int


def history(workspace: Workspace, session_id: str) -> tuple[HistoryEntry, ...]:
    """Every edit ever, oldest first, reverted ones marked."""
    records = workspace.ports.store.read_edits(session_id)
    infos = {info.id: info for info in workspace.session(session_id).transcript.edits}
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


def undo(workspace: Workspace, session_id: str, edit_id: str | None, *, dry_run: bool = False) -> Reverted:
    """Takes an edit back, the last one in force unless named, with all that was done in the same action.

    With `dry_run` nothing happens. Raises `NothingToUndo`, `EditNotFound`, `SessionBusy`.
    """
    session = _idle(workspace, session_id)
    in_force = session.transcript.edits_in_force
    if not in_force:
        raise NothingToUndo(f"no edit of session {session_id} is in force")
    edit = in_force[-1] if edit_id is None else _find(in_force, edit_id)
    together = [other.id for other in in_force if _action(other) == _action(edit)]
    return _change(workspace, session, together, (), dry_run=dry_run)


def restore(workspace: Workspace, session_id: str, checkpoint: Checkpoint, *, dry_run: bool = False) -> Reverted:
    """Goes back to a checkpoint: edits made after it are taken back, edits taken back after it count again. Messages
    and pins stay. Where nothing is to be done the result is empty; with `dry_run` nothing happens.

    Raises `EditNotFound`, `MessageNotFound`, `InvalidRequest`, `SessionBusy`.
    """
    session = _idle(workspace, session_id)
    store = workspace.ports.store
    then = edits_at(store, session_id, checkpoint)
    now = edits_in_force(store.read_edits(session_id))
    back = [edit_id for edit_id in now if edit_id not in then]
    again = [edit_id for edit_id in then if edit_id not in now]
    return _change(workspace, session, back, again, dry_run=dry_run)


def _change(
    workspace: Workspace, session: Session, back: Collection[str], again: Collection[str], *, dry_run: bool
) -> Reverted:
    now = workspace.ports.clock.now()
    events = [
        *(EditReverted(edit_id=edit_id, timestamp=now) for edit_id in back),
        *(EditReverted(edit_id=edit_id, reverted=False, timestamp=now) for edit_id in again),
    ]
    active = session.transcript.active
    if dry_run:
        session = workspace.imagine(session, *events)
    elif events:
        session = workspace.record(session, *events)
        tell_usage(workspace, session)
    changed = {*back, *again}
    return Reverted(
        edits=tuple(edit for edit in session.transcript.edits if edit.id in changed),
        session=session,
        messages_back=session.transcript.active - active,
    )


def _idle(workspace: Workspace, session_id: str) -> Session:
    require_rest(workspace, session_id)
    return workspace.session(session_id)


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
