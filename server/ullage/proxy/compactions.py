"""Compactions of an agent's context: seen in its updates, shown to the client, recorded, and undone.

An agent reports a compaction, with its summary, only to a client that has the capability `session.compaction`. The
proxy declares it for every client; one that lacks it gets a tool call for each compaction instead. A summary that an
agent has written for a handover is checked, and gets the user's own messages, which must not be lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.acp import compaction_call, compaction_done
from ullage.edits.compaction import SUMMARY_CAP, Summary, joined
from ullage.edits.shorten import cut_middle, names
from ullage.model.errors import AnswerBroken, NothingToUndo
from ullage.model.events import (
    AgentAttached,
    CompactionEdit,
    ContextEdited,
    EditReverted,
    EditTrigger,
    Event,
    MessageAppended,
    Record,
    compaction_block,
)
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import ArtifactLedger, CompactionBlock, Message, Role
from ullage.proxy.record import SessionRecord
from ullage.redaction.clean import hide, redact
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.summary.composition import list_files
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.fold import compaction_edits

# The most tokens of a ledger, and its largest share of a small window. The ledger comes in addition to the summary.
_LEDGER_CAP, _LEDGER_SHARE = 4_000, 0.05
# Tokens. If a window is not known, it is taken for this one, the smallest in which agents run.
SMALL_WINDOW = 32_000
# The largest share of the window that an offline summary may take. The rest is for the conversation.
_SUMMARY_SHARE = 0.15
# A summary has at least this share of the tokens that it replaces, up to the tokens of a few sentences. A handover
# begins with some ten thousand tokens, and even a terse summary of those has more.
_LEAST_SHARE, _LEAST_TOKENS = 0.02, 80
# Paths, identifiers and figures that the conversation must have before its summary is expected to have one of them.
_FEW_NAMES = 5
# The tokens and the share of the window that the user's messages may take, and the characters of one of them.
_WORDS_CAP, _WORDS_SHARE, _LONGEST = 3_000, 0.05, 2_000
_HEADING = "## The user's messages, verbatim"
_KINDS = ("compaction_update", "compaction_summary_chunk")
_TITLE = "Compact the context"
# A tool call has no status for a cancelled compaction.
_STATUSES = {"in_progress": "in_progress", "completed": "completed"}


class NativeCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the agent makes itself, as far as its updates have reported it.

    - `used_before`: tokens in the context before it.
    - `asked`: the proxy or the client has sent the agent's compacting command.
    - `copy`: the agent's id of a copy of the session from before the compaction, or "" if the agent makes no copies.
    - `summary`: the text of the summary so far.
    - `completed`: the agent has reported that the compaction is done.
    """

    used_before: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    asked: bool = False
    copy: str = ""
    summary: str = ""
    completed: bool = False


def watched(compaction: NativeCompaction | None, update: dict[str, Any], used: int) -> NativeCompaction | None:
    """Returns `compaction` with what a session update reports about it, or None if there is no compaction.

    If `compaction` is None and the update reports one, returns a new one with `used` tokens before it. An update about
    something else changes nothing.
    """
    kind = update.get("sessionUpdate")
    called = compaction_call(update)
    done = compaction_done(update) or (called and update.get("status") == "completed")
    if kind not in _KINDS and not done and not called:
        return compaction
    begun = compaction or NativeCompaction(used_before=used)
    if kind == "compaction_summary_chunk":
        return replace(begun, summary=begun.summary + as_text(as_object(update.get("content")).get("text")))
    summary = begun.summary
    if kind == "compaction_update" and "summary" in update:
        summary = "".join(as_text(part.get("text")) for part in as_objects(update.get("summary")))
    completed = begun.completed or done or (kind == "compaction_update" and update.get("status") == "completed")
    return replace(begun, completed=completed, summary=summary)


def with_compactions(greeting: JsonObject) -> JsonObject:
    """Returns the params of the client's `initialize` with the capability to take updates of compactions."""
    capabilities = as_object(greeting.get("clientCapabilities"))
    session: JsonObject = {**as_object(capabilities.get("session")), "compaction": {}}
    return {**greeting, "clientCapabilities": {**capabilities, "session": session}}


class ShownCompactions:
    """The compactions of one session that its client is shown as tool calls, with their summaries so far by id."""

    def __init__(self) -> None:
        self._summaries: dict[str, str] = {}

    def tool_call(self, update: Mapping[str, Any]) -> JsonObject | None:
        """Returns the update of a tool call that shows what `update` says of a compaction. Returns None if there is
        nothing to show yet, because `update` is a piece of the summary. The summary is shown once it is complete."""
        known_id = as_text(update.get("compactionId"))
        is_new = known_id not in self._summaries
        summary = self._summaries.get(known_id, "")
        if update.get("sessionUpdate") == "compaction_summary_chunk":
            self._summaries[known_id] = summary + as_text(as_object(update.get("content")).get("text"))
            return _begun(known_id, "in_progress") if is_new else None
        if "summary" in update:
            summary = "".join(as_text(part.get("text")) for part in as_objects(update.get("summary")))
        self._summaries[known_id] = summary
        status = _STATUSES.get(as_text(update.get("status")), "failed")
        call = _begun(known_id, status) if is_new else _changed(known_id, status)
        text = as_text(update.get("error")) or summary
        if text and status != "in_progress":
            call["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
        return call


def is_of_compaction(update: Mapping[str, Any]) -> bool:
    """Returns whether a session update is one that only a client gets that takes updates of compactions."""
    return update.get("sessionUpdate") in ("compaction_update", "compaction_summary_chunk")


def _begun(compaction_id: str, status: str) -> JsonObject:
    return {**_changed(compaction_id, status), "sessionUpdate": "tool_call", "title": _TITLE, "kind": "think"}


def _changed(compaction_id: str, status: str) -> JsonObject:
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": compaction_id,
        "status": status,
        "_meta": {"ullage": {}},
    }


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
    return budget.window if budget else SMALL_WINDOW


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


def accept_summary(record: SessionRecord, text: str, writer: str) -> Summary:
    """Returns the agent's summary `text` with the user's messages and Ullage's ledger added. `writer` is the agent's
    name.

    Raises `AnswerBroken` if the text cannot be a summary of the conversation (see `check_summary`).
    """
    counter, messages = record.conversation.projection.counter, _to_archive(record)[0]
    check_summary(text, messages, counter)
    room = min(_WORDS_CAP, int(window_of(record) * _WORDS_SHARE))
    said = "\n".join(f"- {each}" for each in own_words(messages, text, room, counter))
    whole = f"{text}\n\n{_HEADING}\n\n{said}" if said else text
    return Summary(text=whole, ledger=ledger_of(record), summarizer=writer)


def check_summary(text: str, messages: Sequence[Message], counter: TokenCounter) -> None:
    """Raises `AnswerBroken` if the text is too short or too long for a summary of the messages, or if it contains none
    of the paths, identifiers and figures that occur in them."""
    tokens, replaced = counter.count(text), counter.count_messages(messages)
    least = min(_LEAST_TOKENS, int(replaced * _LEAST_SHARE))
    if not text.strip() or tokens < least:
        raise AnswerBroken(f"the summary has {tokens} tokens; one of {replaced:,} tokens has at least {least}")
    if tokens > SUMMARY_CAP:
        raise AnswerBroken(f"the summary has {tokens:,} tokens; {SUMMARY_CAP:,} are allowed")
    said = {name for message in messages for name in names(message.text)}
    if len(said) >= _FEW_NAMES and not any(name in text for name in said):
        raise AnswerBroken("the summary names no path, identifier or figure of the conversation")


def own_words(messages: Sequence[Message], text: str, room: int, counter: TokenCounter) -> list[str]:
    """Returns the texts of the user's messages that are not in `text`, in order and in at most `room` tokens.

    The first message is chosen first, then the newest ones until the next doesn't fit. A text of more than 2,000
    characters is cut in the middle.
    """
    said = [cut_middle(message.text.strip(), _LONGEST) for message in messages if message.role is Role.USER]
    wanted = [at for at in (0, *range(len(said) - 1, 0, -1)) if at < len(said) and said[at] and said[at] not in text]
    kept: list[int] = []
    for at in wanted:
        room -= counter.count(said[at])
        if room < 0:
            break
        kept.append(at)
    return [said[at] for at in sorted(kept)]
