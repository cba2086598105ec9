"""Records compactions of an agent's context, and finds the agent's session to which an undo returns."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import SUMMARY_CAP, Summary, joined
from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import CompactionBlock
from ullage.model.edits import CompactionEdit, EditTrigger, compaction_block
from ullage.model.errors import NothingToUndo
from ullage.model.events import AgentAttached, ContextEdited, EditReverted, Event, MessageAppended, Record
from ullage.model.message import Message, Role
from ullage.proxy.record.session_record import SessionRecord
from ullage.redaction.clean import redact
from ullage.redaction.privacy import hide
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.summary.composition import list_files
from ullage.summary.summary_request import SummaryRequest
from ullage.transcript.fold import compaction_edits

# The most tokens of a ledger, and its largest share of a small window. The ledger comes in addition to the summary.
_LEDGER_CAP, _LEDGER_SHARE = 4_000, 0.05
# Tokens. If the window is not known, an offline summary is written for this one, the smallest in which agents run.
_SMALL_WINDOW = 32_000
# The largest share of the window that an offline summary may take. The rest is for the conversation.
_SUMMARY_SHARE = 0.15


class Undoable(Struct, frozen=True, kw_only=True):
    """What can be undone: the last compaction in force, or the conversation's move to another agent without one (`edit`
    is then None), the agent's session from before it, and the messages recorded after it."""

    edit: CompactionEdit | None
    before: AgentAttached
    since: tuple[Message, ...]


class Archiving(Struct, frozen=True, kw_only=True):
    """A compaction to be recorded.

    `before` and `after` are events to record directly before and after it. `size_before` and `size_after` are the
    tokens in the context as the agent reports them, or None if it doesn't.
    """

    summary: Summary
    trigger: EditTrigger
    before: tuple[Event, ...] = ()
    after: tuple[Event, ...] = ()
    size_before: int | None = None
    size_after: int | None = None


def ledger_of(record: SessionRecord) -> ArtifactLedger:
    """Returns the ledger of all messages that a compaction would replace now, with that of earlier compactions. It is
    shortened to 4,000 tokens or 5 per cent of the window, whichever is less."""
    room = min(_LEDGER_CAP, int(window_of(record) * _LEDGER_SHARE))
    request = _request(record, room)
    return list_files(request, record.conversation.projection.counter, record.workspace.reader)


async def offline_summary(record: SessionRecord, focus: str) -> Summary:
    """Returns a summary, written without a model, of all messages that a compaction would replace now. `focus` is what
    it must keep above all, or ""."""
    conversation = record.conversation
    request = _request(record, min(SUMMARY_CAP, int(window_of(record) * _SUMMARY_SHARE)), focus)
    writer = OfflineSummarizer()
    request = hide(request, conversation.settings.private_patterns)
    stream = await writer.summarize(request, conversation.projection.counter, record.workspace.reader)
    text = "".join([piece async for piece in stream.pieces])
    return Summary(text=text, ledger=stream.ledger, summarizer=writer.name)


def _request(record: SessionRecord, max_tokens: int, focus: str = "") -> SummaryRequest:
    messages, indices, previous = _to_archive(record)
    return SummaryRequest(
        messages=messages,
        indices=indices,
        max_tokens=max_tokens,
        previous=previous,
        cwd=record.conversation.transcript.cwd,
        focus=focus,
    )


def archived_messages(record: SessionRecord) -> tuple[Message, ...]:
    """Returns the messages that a compaction would replace now: all in the context except markers."""
    return _to_archive(record)[0]


def has_messages(record: SessionRecord) -> bool:
    """Returns whether the context has messages other than the markers of compactions."""
    return bool(record.conversation.transcript.active)


def archive(record: SessionRecord, archiving: Archiving) -> CompactionEdit:
    """Records a compaction in which a summary replaces all messages in the context. Secrets in the summary are
    redacted. Returns the edit."""
    edit = _edit(record, archiving)
    conversation = record.conversation
    with conversation.one_change():
        conversation.record(*archiving.before, ContextEdited(edit=edit), *archiving.after)
        conversation.keep_snapshot()
    return edit


def last_block(record: SessionRecord) -> CompactionBlock | None:
    """Returns the compaction block if the last item in the context is the marker of a compaction, otherwise None."""
    items = record.conversation.transcript.items
    return items[-1].message.compaction if items else None


def undoable(record: SessionRecord) -> Undoable:
    """Returns what an undo would undo: the last compaction in force, or a later move to another agent.

    Raises `NothingToUndo` if there is neither, or if the agent has no session from before it.
    """
    records = record.workspace.ports.store.read(record.id)
    in_force = compaction_edits(records)
    move = _last_move(records, in_force)
    if move is not None:
        return move
    if not in_force:
        raise NothingToUndo("there is nothing to undo: no compaction of this session is in force")
    edit = in_force[-1]
    before, now, since = _around(records, edit)
    if before is None or now is None or before.session_id == now.session_id:
        name = now.agent if now else "the agent"
        if compaction_block(edit).summarizer == name:
            raise NothingToUndo(f"{name} compacted its own context and keeps no copy of what it was")
        raise NothingToUndo(f"{name} no longer has its session from before the summary, so there is no way back to it")
    return Undoable(edit=edit, before=before, since=since)


def take_back(record: SessionRecord, found: Undoable) -> int:
    """Records that the compaction, if there is one, is undone and that the conversation returns to the agent's session
    from before it. Returns the tokens in the context afterwards."""
    conversation, now = record.conversation, record.workspace.ports.clock.now()
    reverted = (EditReverted(edit_id=found.edit.id, timestamp=now),) if found.edit else ()
    conversation.record(*reverted, found.before)
    return conversation.used


def _last_move(records: tuple[Record, ...], in_force: Sequence[CompactionEdit]) -> Undoable | None:
    """Returns the conversation's last move to another agent that was not undone, or None if there is none, or if a
    compaction in force was made at it or after it."""
    # The agents' sessions on the way to the one in use, with the places of their records. A session that comes again
    # ends those after it.
    way: list[tuple[int, AgentAttached]] = []
    edited = {edit.id for edit in in_force}
    last_edit = -1
    for record in records:
        match record.event:
            case AgentAttached() as attached:
                known = [_place(one) for _, one in way]
                if _place(attached) in known:
                    del way[known.index(_place(attached)) + 1 :]
                else:
                    way.append((record.position, attached))
            case ContextEdited(edit=edit) if edit.id in edited:
                last_edit = record.position
            case _:
                pass
    if len(way) < 2 or way[-1][1].agent == way[-2][1].agent:
        return None
    moved = way[-1][0]
    # A compaction with which a conversation moves is recorded directly before the move.
    if last_edit >= moved - 1:
        return None
    later = [record.event for record in records if record.position > moved]
    since = tuple(event.message for event in later if isinstance(event, MessageAppended))
    return Undoable(edit=None, before=way[-2][1], since=since)


def _place(attached: AgentAttached) -> tuple[str, str]:
    return attached.agent, attached.session_id


def _around(
    records: tuple[Record, ...], edit: CompactionEdit
) -> tuple[AgentAttached | None, AgentAttached | None, tuple[Message, ...]]:
    """Returns the agent's session when the edit was made, the agent's session now, and the messages after the edit."""
    before = now = None
    since: list[Message] = []
    for record in records:
        match record.event:
            case AgentAttached() as attached:
                now = attached
            case ContextEdited(edit=other) if other.id == edit.id:
                before = now
                since.clear()
            case MessageAppended(message=message):
                since.append(message)
            case _:
                pass
    return before, now, tuple(since)


def _to_archive(record: SessionRecord) -> tuple[tuple[Message, ...], tuple[int, ...], CompactionBlock | None]:
    """Returns the messages that a compaction would replace now, their indices in the transcript, and the blocks of
    earlier compactions joined into one, or None if there are none."""
    items = record.conversation.transcript.items
    said = [item for item in items if not item.inserted]
    markers = [block for item in items if (block := item.message.compaction)]
    return tuple(item.message for item in said), tuple(item.index for item in said), joined(markers)


def window_of(record: SessionRecord) -> int:
    """Returns the window in tokens. If it is not known, returns 32,000, the smallest in which agents run."""
    budget = record.conversation.budget
    return budget.window if budget else _SMALL_WINDOW


def _edit(record: SessionRecord, archiving: Archiving) -> CompactionEdit:
    conversation = record.conversation
    projection, transcript = conversation.projection, conversation.transcript
    stamp, private = record.workspace.new_stamp(archiving.trigger), conversation.settings.private_patterns
    safe = hide(replace(archiving.summary, text=redact(archiving.summary.text)), private)
    before = conversation.used if archiving.size_before is None else archiving.size_before
    block = CompactionBlock(
        compaction_number=transcript.compactions + 1,
        timestamp=stamp.timestamp,
        summary=safe.text,
        messages_archived=transcript.active,
        context_size_before=before,
        ledger=safe.ledger,
        summarizer=safe.summarizer,
    )
    marker = Message(id=f"{stamp.id}-marker", role=Role.USER, content=(block,), timestamp=stamp.timestamp)
    size = projection.tracker.overhead + projection.tracker.scale(projection.counter.count_message(marker))
    block = replace(block, context_size_after=size if archiving.size_after is None else archiving.size_after)
    return CompactionEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=archiving.trigger,
        tokens_saved=before - block.context_size_after,
        context_size_before=before,
        start=0,
        end=transcript.messages,
        marker=replace(marker, content=(block,)),
    )
