"""The fold: applies a log's records one by one and holds the transcript's present state.

`Transcript` is a sans-I/O state machine. It holds the view and a few facts, never the archived messages, so its size is
that of the active context. A reverted edit is skipped as if it had never been made. The state no longer has the
messages which that edit archived, so an edit is reverted by folding the log again (`service/conversation`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from msgspec import Struct

from ullage.model.events import (
    AgentAttached,
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
    ContextWarned,
    ConversationContinued,
    ConversationImported,
    DuplicateReadsEdit,
    Edit,
    EditReverted,
    EditTrigger,
    Event,
    MessageAppended,
    MessagePinned,
    ModelChanged,
    PromptListed,
    Record,
    RecordUnread,
    RewindEdit,
    SessionConfigured,
    SessionCreated,
    SessionForked,
    SessionRenamed,
    SummaryReported,
    ToolsDeclared,
    UsageReported,
    WindowReported,
)
from ullage.model.message import Message, ToolDefinition
from ullage.transcript.view import Item, apply_edit, is_pure_prompt


class EditInfo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An edit as listed for users: its kind, time (Unix milliseconds), trigger, the tokens it saved, and whether it is
    undone (`reverted`). `part_of` is the id of the edit together with which it is undone, None if it is undone by
    itself."""

    id: str
    kind: str
    timestamp: int
    trigger: EditTrigger
    tokens_saved: int
    reverted: bool = False
    part_of: str | None = None


class TranscriptState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole state of a transcript, as a value that snapshots store and `Transcript` restores. `relied` holds the
    ids of messages in the view that notices refer to. `messages` counts the appended messages. `origin` says where an
    imported conversation comes from, None if the conversation was continued here or not imported. `oldest_timestamp` is
    the time of the first message that has one, `newest_timestamp` that of the newest message or usage report (Unix
    milliseconds, 0 if unknown)."""

    position: int
    items: tuple[Item, ...]
    cwd: str = ""
    title: str = ""
    model: str = ""
    parent_id: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    context: dict[str, Any] = {}
    pinned: frozenset[str] = frozenset()
    relied: frozenset[str] = frozenset()
    edits: tuple[EditInfo, ...] = ()
    messages: int = 0
    first_user_id: str | None = None
    oldest_timestamp: int = 0
    newest_timestamp: int = 0
    agent: AgentAttached | None = None
    origin: ConversationImported | None = None


class Transcript:
    """One session's conversation after the records applied so far: the view, the tools, the pins, the list of edits and
    the facts of the session. Archived messages are counted, not held."""

    def __init__(self, state: TranscriptState | None = None) -> None:
        state = state or TranscriptState(position=-1, items=())
        self.position = state.position
        self.cwd = state.cwd
        self.title = state.title
        self.model = state.model
        self.parent_id = state.parent_id
        self.tools = state.tools
        self.context = state.context
        self.pinned = set(state.pinned)
        self.relied = set(state.relied)
        self.edits = list(state.edits)
        self.messages = state.messages
        self.first_user_id = state.first_user_id
        self.oldest_timestamp = state.oldest_timestamp
        self.newest_timestamp = state.newest_timestamp
        self.agent = state.agent
        self.origin = state.origin
        self._items = list(state.items)
        self._active = _count_active(self._items)
        self._reverted: set[str] = set()

    @property
    def state(self) -> TranscriptState:
        """The whole state as a value, from which `Transcript(state)` makes an equal transcript."""
        return TranscriptState(
            position=self.position,
            items=tuple(self._items),
            cwd=self.cwd,
            title=self.title,
            model=self.model,
            parent_id=self.parent_id,
            tools=self.tools,
            context=self.context,
            pinned=frozenset(self.pinned),
            relied=frozenset(self.relied),
            edits=tuple(self.edits),
            messages=self.messages,
            first_user_id=self.first_user_id,
            oldest_timestamp=self.oldest_timestamp,
            newest_timestamp=self.newest_timestamp,
            agent=self.agent,
            origin=self.origin,
        )

    def copied(self) -> "Transcript":
        """Returns a copy, to which records can be applied while this transcript stays as it is."""
        copied = Transcript(self.state)
        copied._reverted = set(self._reverted)
        return copied

    @property
    def items(self) -> Sequence[Item]:
        """The messages of the view, each with its index in the transcript."""
        return self._items

    @property
    def view(self) -> tuple[Message, ...]:
        return tuple(item.message for item in self._items)

    @property
    def active(self) -> int:
        """The number of appended messages that are in the view; markers and notices do not count."""
        return self._active

    @property
    def compactions(self) -> int:
        """The number of compactions in force. One whose marker was archived by a later compaction counts, too."""
        return sum(edit.kind == "compaction" and not edit.reverted for edit in self.edits)

    @property
    def edits_in_force(self) -> tuple[EditInfo, ...]:
        """The edits that are not undone, oldest first."""
        return tuple(edit for edit in self.edits if not edit.reverted)

    def is_reverted(self, edit_id: str) -> bool:
        """Returns whether the records given to `expect_reverts` undo the edit."""
        return edit_id in self._reverted

    def apply(self, record: Record) -> None:
        """Applies the next record of the log. Records must come in order of position, each once."""
        self._apply_event(record.event, record.timestamp)
        self.position = record.position

    def _apply_event(self, event: Event, timestamp: int) -> None:  # noqa: C901, PLR0912 - one case for each event
        match event:
            case MessageAppended():
                self._append(event.message)
                self._see(event.message.timestamp, timestamp)
            case UsageReported() | ContextEstimated():
                self._see(event.timestamp, timestamp)
            case ContextEdited():
                self._edit(event.edit)
            case MessagePinned():
                (self.pinned.add if event.pinned else self.pinned.discard)(event.message_id)
            case ToolsDeclared():
                self.tools = event.tools
            case SessionConfigured():
                self.context = event.context
            case ModelChanged():
                self.model = event.model
            case SessionRenamed():
                self.title = event.title
            case SessionCreated():
                self.cwd, self.title, self.model = event.cwd, event.title, event.model
            case SessionForked():
                self.parent_id = event.parent_id
                self.title = event.title or self.title
                # The agent doesn't know the fork.
                self.agent = self.origin = None
            case AgentAttached():
                self.agent = event
            case ConversationImported():
                self.origin = event
            case ConversationContinued():
                self.origin = None
            case RecordUnread() | SummaryReported() | EditReverted() | ContextWarned():
                pass
            case WindowReported() | PromptListed():
                pass

    def _see(self, said: int, recorded: int) -> None:
        # An imported event without a time of its own has none: its record's time is that of the import.
        time = said or (0 if self.origin else recorded)
        self.newest_timestamp = max(self.newest_timestamp, time)

    def _append(self, message: Message) -> None:
        self._items.append(Item(self.messages, message))
        self._active += 1
        self.messages += 1
        if self.first_user_id is None and is_pure_prompt(message):
            self.first_user_id = message.id
        if message.timestamp and not self.oldest_timestamp:
            self.oldest_timestamp = message.timestamp

    def _edit(self, edit: Edit) -> None:
        reverted = edit.id in self._reverted
        self.edits.append(
            EditInfo(
                id=edit.id,
                kind=edit_kind(edit),
                timestamp=edit.timestamp,
                trigger=edit.trigger,
                tokens_saved=edit.tokens_saved,
                reverted=reverted,
                part_of=edit.part_of,
            )
        )
        if not reverted:
            self._items = apply_edit(self._items, edit)
            self._active = _count_active(self._items)
            self.relied |= set(edit.shown_in if isinstance(edit, DuplicateReadsEdit) else ())
            self.relied &= {item.message.id for item in self._items}

    def expect_reverts(self, records: Iterable[Record]) -> None:
        """Notes the edits that the given records undo and do not put in force again. Call it with all records before
        `apply`, so that an undone edit never changes the view."""
        self._reverted |= reverted_ids(records)


def _count_active(items: Sequence[Item]) -> int:
    return sum(not item.inserted for item in items)


def edit_kind(edit: Edit) -> str:
    """Returns the edit's name as stored and listed, for example `clear_tool_uses`."""
    return str(edit.__struct_config__.tag)


def fold(records: Sequence[Record], state: TranscriptState | None = None) -> Transcript:
    """Returns the transcript after all `records`, which follow `state`, or begin the log if `state` is None."""
    transcript = Transcript(state)
    transcript.expect_reverts(records)
    for record in records:
        transcript.apply(record)
    return transcript


def project(events: Iterable[Event]) -> tuple[Message, ...]:
    """Returns the view after these events of a log: the messages that a model would be sent."""
    records = [
        Record(position=position, timestamp=0, event=event) for position, event in zip(count(), events, strict=False)
    ]
    return fold(records).view


def reverted_ids(records: Iterable[Record]) -> frozenset[str]:
    """Returns the ids of the edits that these records undo and do not put in force again."""
    last = {record.event.edit_id: record.event for record in records if isinstance(record.event, EditReverted)}
    return frozenset(edit_id for edit_id, event in last.items() if event.reverted)


def taken_back(records: Iterable[Record]) -> frozenset[str]:
    """Returns the ids of the messages that the user took back by going back to before them."""
    rewinds = (edit for edit in _edits_in_force(records) if isinstance(edit, RewindEdit))
    return frozenset(message_id for edit in rewinds for message_id in edit.message_ids)


def compaction_edits(records: Iterable[Record]) -> tuple[CompactionEdit, ...]:
    """Returns the compactions that these records make and do not undo, oldest first."""
    return tuple(edit for edit in _edits_in_force(records) if isinstance(edit, CompactionEdit))


def _edits_in_force(records: Iterable[Record]) -> Iterator[Edit]:
    records = tuple(records)
    reverted = reverted_ids(records)
    edits = (record.event.edit for record in records if isinstance(record.event, ContextEdited))
    return (edit for edit in edits if edit.id not in reverted)
