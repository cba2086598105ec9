"""A conversation is the body of an open session. There is one per session id, and it may be held while the session is
open.

Everything that happens to a session is recorded here. The projection holds the state that follows from the log. The
guards and the work hold state that does not follow from the log, and survive when the projection is computed again.

Pages list the messages of the context or of the whole transcript. Checkpoints are places in a session's log that a user
can restore or fork from.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import is_by_agent
from ullage.edits.compaction import CompactionPlan, Summary
from ullage.edits.counted import CountedView, Stamp
from ullage.model.errors import ConcurrentAppend, EditNotFound, InvalidRequest, MessageNotFound, PreviewExpired
from ullage.model.events import (
    AgentAttached,
    CompactionEdit,
    ContextEdited,
    ConversationContinued,
    ConversationImported,
    DropEdit,
    Edit,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionConfigured,
    SessionRenamed,
    ShortenEdit,
    ToolsDeclared,
)
from ullage.model.message import BroughtBack, Message
from ullage.model.settings import ContextSettings
from ullage.model.updates import Update, UsageMeta
from ullage.model.usage import HiddenPart, Keeper
from ullage.policy.budget import Breaker, ContextBudget, used_for_warnings
from ullage.service.conversation.environment import (
    Environment,
    Rules,
    beside_the_log,
    given_of,
    others_of,
    rules_of,
    told_window,
)
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.work import Ask, Work
from ullage.service.ports.models import Provider
from ullage.service.ports.store import SessionStore, StoredSession
from ullage.transcript.fold import Transcript, compaction_edits
from ullage.transcript.view import Item


class Planned(Struct, frozen=True, kw_only=True):
    """A compaction that lacks only its summary.

    `number`: the compaction's number in the session, from 1. `edits_seen`: the conversation's `edits_seen` when the
    plan was made; if it has changed, the plan is invalid. `cuts`: edits that shorten huge blocks and are applied
    together with the compaction. `private`: regular expressions; matching text must not appear in the summary.
    `brought_back`: instruction files that the marker names or includes. `note`: how the plan differs from the user's
    request, empty if it does not.
    """

    view: CountedView
    plan: CompactionPlan
    stamp: Stamp
    number: int
    edits_seen: int
    cuts: tuple[ShortenEdit, ...] = ()
    private: tuple[str, ...] = ()
    brought_back: tuple[BroughtBack, ...] = ()
    note: str = ""


class Previewed(Struct, frozen=True, kw_only=True):
    """A preview that waits to be committed: a planned compaction and its summary."""

    planned: Planned
    summary: Summary


# Another process may append to the session between our read and our write. Each try first reads the new records.
_APPEND_TRIES = 8
# Events that may change a conversation's model, settings or budget.
_RULING = {AgentAttached, ConversationContinued, ConversationImported, ModelChanged, SessionConfigured}
# Events for which something is counted or read when they are folded.
_COUNTED = {ContextEdited, ModelChanged, ToolsDeclared}


class Guards:
    """State of a conversation that is not in its log, about automatic management and prompt turns. It survives an undo.

    `vetoed_at`: tokens in the context when a hook last vetoed a compaction. `cleared_at`: tokens in the context when
    nothing could be cleared the last time. `warned_unfit`: the user has been shown that the context cannot fit the
    window. `warned_due`: the user has been shown that a compaction waits for approval. `previews`: previews that can be
    committed, by id. `replays`: a recording answers the prompts. `provider_clears`: the provider clears old tool
    results by itself. `permitted`: keys of the questions that the user always allows. `read_to`: the index of the first
    message that was not read ahead.
    """

    def __init__(self) -> None:
        self.breaker = Breaker()
        self.vetoed_at = 0
        self.cleared_at = 0
        self.warned_unfit = False
        self.warned_due = False
        self.previews: dict[str, Previewed] = {}
        self.replays = False
        self.provider_clears = False
        self.permitted: set[str] = set()
        self.read_to = 0


class Conversation:
    """An open session. There is one per session id and process. `edits_seen` grows with every edit made or undone, in
    this process or in another. `figures` are the figures computed since the last change; None if there are none.
    `own_files` are the user's files that its agent adds to each request, with the times of their last changes in Unix
    milliseconds; None if they were not looked for.

    `Workspace.open` returns a conversation that is up to date with the store. `record` and `catch_up` keep the
    conversation up to date.
    """

    def __init__(
        self,
        session_id: str,
        workspace: Environment,
        projection: Projection,
        changed: "Callable[[Changed], object]",
        guards: Guards | None = None,
    ) -> None:
        self.id = session_id
        self.workspace = workspace
        self.projection = projection
        self.guards = guards or Guards()
        self.work = Work(session_id)
        self.is_open = True
        self.edits_seen = 0
        self.figures: UsageMeta | None = None
        self.own_files: tuple[tuple[HiddenPart, int], ...] | None = None
        self._changed = changed
        self._pending: list[Event] | None = None
        # The title that listeners know, while a past is read that is published at its end; else None.
        self._held_title: str | None = None
        self._rules: Rules | None = None
        self._version: int | None = None

    @property
    def transcript(self) -> Transcript:
        return self.projection.transcript

    @property
    def used(self) -> int:
        """The tokens in the context now: by the provider's last usage plus a local count of later messages, or by a
        local count alone if no usage covers this context."""
        return self.projection.used

    @property
    def used_for_warnings(self) -> int:
        """The tokens that warnings go by: the count alone if an agent behind the proxy does not report."""
        reading, attached = self.projection.tracker.reading, self.transcript.agent
        return used_for_warnings(reading.used, reading.reported if attached is None or attached.reports else None)

    @property
    def model(self) -> str:
        """The session's model, or the model of the workspace's settings. Empty if neither is set."""
        return self.rules.model

    @property
    def settings(self) -> ContextSettings:
        """The context settings in effect: the session's own fields, and the workspace's for all others."""
        return self.rules.settings

    @property
    def budget(self) -> ContextBudget | None:
        """The budget of the window, with the thresholds in tokens, or None while the model's window is unknown."""
        return self.rules.budget

    @property
    def keeper(self) -> Keeper:
        """Who keeps the context within the window. A replayed recording has no keeper: it must stay as it is."""
        return Keeper.NOBODY if self.guards.replays else self.rules.keeper

    @property
    def is_managed(self) -> bool:
        """Whether automatic management is on. It is off for a replayed recording, which must stay as it is."""
        return self.settings.enabled and not self.guards.replays

    @property
    def max_output(self) -> int | None:
        """The most tokens that the model can write in one answer, or None if unknown."""
        return self.workspace.limits(self.model).max_output

    @property
    def provider(self) -> Provider:
        """The provider of the session's model. Raises `NoModelConfigured` if there is none, or `SdkMissing`."""
        return self.workspace.ports.providers(self.model, self.workspace.settings)

    def record(self, *events: Event, lacking: Callable[[Sequence[Event]], Sequence[Event]] | None = None) -> None:
        """Appends events to the session's log, folds them and publishes `Changed`. Without events only `Changed` is
        published. `lacking` returns those of them that the log lacks: another process may have appended what has
        happened to an agent's conversation.

        Raises `PreviewExpired` if one of the events is an edit that is made here and another process has edited the
        session first, and `ConcurrentAppend` if other processes append again and again.
        """
        kinds = set(map(type, events))
        for _ in range(_APPEND_TRIES):
            seen = self.edits_seen
            try:
                left = lacking(events) if lacking else events
                if len(left) < len(events):
                    # What another process has appended is not folded here yet.
                    self._read_on()
                self._append(left, kinds)
            except ConcurrentAppend:
                self._read_on()
                if ContextEdited in kinds and lacking is None and self.edits_seen != seen:
                    raise PreviewExpired("the session was edited elsewhere meanwhile; look again") from None
            else:
                return
        raise ConcurrentAppend(f"session {self.id}: other processes keep appending; try again")

    def catch_up(self) -> None:
        """Folds the records that other processes have appended, and publishes them as `Changed` with `is_ours` False.
        Raises `SessionNotFound` if the session was deleted."""
        # The version is read before the log: if another process writes in between, the next call reads again.
        version = self.workspace.ports.store.version()
        if version != self._version:
            self._read_on()
            self._version = version

    def fold(self, records: Sequence[Record], earlier: Sequence[Record]) -> None:
        """Folds the next records of a log that begins with `earlier` and need not be stored. Publishes nothing."""
        self._fold(records, self._foreseen(records, earlier))

    def fold_again(self, records: Sequence[Record]) -> None:
        """Computes the projection again from the whole log, `records`. Publishes nothing."""
        self.figures = self._rules = None
        self.projection = self.workspace.project(StoredSession(records=tuple(records)), self.model)

    def read_again(self) -> None:
        """Reads the whole log again, because records that were folded have become another session's. Publishes
        `Changed`. Raises `SessionNotFound` if the session was deleted."""
        self.figures = self._rules = None
        self.projection = self.workspace.load(self.id)
        self.edits_seen += 1
        self._changed(Changed(conversation=self, events=(), is_ours=False))

    def _read_on(self) -> None:
        records = self.workspace.ports.store.read(self.id, self.transcript.position + 1)
        if records:
            self._take_in(records, self._foreseen(records))
            events = tuple(record.event for record in records)
            self._changed(Changed(conversation=self, events=events, is_ours=False))

    def take_count(self, tokens: int) -> None:
        """Takes the provider's own count of the next prompt as the context's size. Publishes `Changed`."""
        self.projection.tracker.take_count(tokens, self.workspace.ports.clock.now())
        self.figures = None
        self._publish(())

    def adapt(self) -> None:
        """Adapts to changed settings: counts all again if the counter changed, and publishes `Changed`."""
        counter = self.workspace.counter(self.model)
        if counter is not self.projection.counter:
            self.projection.use_counter(counter, self.workspace.calibration(self.model))
        self.figures = None
        self._changed(Changed(conversation=self, events=(), by_settings=True))

    @property
    def is_held_back(self) -> bool:
        return self._held_title is not None

    def hold_back(self) -> None:
        """Publishes nothing until `publish` is called, because a file has more of this conversation than was read: its
        figures now belong to a moment that is long over."""
        if self._held_title is None:
            self._held_title = self.transcript.title

    def publish(self) -> None:
        """Publishes what was held back as one `Changed`, with the title if it has changed."""
        title, self._held_title = self._held_title, None
        if title is not None:
            renamed = SessionRenamed(title=self.transcript.title)
            self._changed(Changed(conversation=self, events=(renamed,) if renamed.title != title else ()))

    @contextmanager
    def one_change(self) -> Generator[None]:
        """Collects everything that is recorded in the `with` block and publishes it as one `Changed` at the end."""
        pending: list[Event] = []
        self._pending = pending
        try:
            yield
        finally:
            self._pending = None
            if pending:
                self._publish(pending)

    def imagine(self, *events: Event) -> "Conversation":
        """Returns a copy of the conversation as it would be with these events at the end of its log, for a dry run or
        to check a change before it is recorded. Nothing may be recorded in the copy. A copy may imagine further events,
        but none that undoes an imagined edit."""
        records = self.workspace.records(self.transcript.position + 1, events)
        projection = self._foreseen(records)
        if projection is None:
            projection = self.projection.copied()
            projection.apply(records)
        return Conversation(self.id, self.workspace, projection, lambda _: None, self.guards)

    async def settled(self) -> None:
        """Waits until no run of automatic management is running."""
        await self.work.wait(Ask.READ)

    def keep_snapshot(self) -> None:
        """Saves a snapshot of the projection, so that opening the session need not fold the log up to here. If the
        store refuses, that is logged and the session is opened from its log."""
        with beside_the_log():
            self.workspace.ports.store.save_snapshot(self.id, self.transcript.position, self.projection.snapshot())

    def keep_calibration(self) -> None:
        """Saves what usage reports have taught about the model, for other sessions with the same model. Does nothing
        for an imported conversation, whose calibration knows only its own log."""
        if self.transcript.origin is None:
            self.workspace.keep_calibration(self.model, self.projection.tracker.calibration)

    def keep_compactions(self) -> None:
        """Saves where the agent of an imported conversation has compacted by itself, for its other sessions."""
        if self.transcript.origin is not None:
            self.workspace.keep_compactions(self.transcript.origin.format, self.projection.evidence.compactions)

    def emit(self, update: Update) -> None:
        """Publishes an update of this session to the listeners."""
        self.workspace.bus.emit(self.id, update)

    @property
    def rules(self) -> Rules:
        """The model, settings, window and thresholds in effect now, with their evidence."""
        rules, workspace, evidence = self._rules, self.workspace, self.projection.evidence
        if (
            rules is None
            or rules.under is not workspace.settings
            or rules.others is not others_of(workspace, self.projection.transcript)
            or rules.told != told_window(workspace, self.projection.transcript, evidence)
            or not (rules.evidence is evidence or self._hold(rules))
        ):
            self.figures = None
            rules = self._rules = rules_of(workspace, self.projection.transcript, evidence)
        elif rules.evidence is not evidence:
            # The rules are asked for several times between two changes, and this look need not be repeated.
            rules = self._rules = rules.at(evidence)
        return rules

    def _hold(self, rules: Rules) -> bool:
        return rules.hold(self.projection.evidence) and rules.given == given_of(
            self.workspace, self.projection.transcript
        )

    def _append(self, events: Sequence[Event], kinds: Set[type[Event]]) -> None:
        if events:
            store = self.workspace.ports.store
            edits = [event for event in events if isinstance(event, ContextEdited)]
            whole = sized(self.used, edits) if len(edits) == len(events) else events
            records = self.workspace.records(self.transcript.position + 1, whole)
            # What may fail comes before the append: once the records are in the log, nothing is refused any more.
            foreseen = self._foreseen(records)
            if EditReverted in kinds:
                store.drop_snapshot(self.id)
            store.append(self.id, records)
            self._take_in(records, foreseen)
        self._publish(events)

    def _take_in(self, records: Sequence[Record], foreseen: Projection | None) -> None:
        known, counter = self.projection.evidence.compactions, self.projection.counter
        self._fold(records, foreseen)
        if self.projection.evidence.compactions != known:
            self.keep_compactions()
        if self.projection.counter is counter and any(isinstance(record.event, ModelChanged) for record in records):
            with beside_the_log():
                if self.workspace.kept_calibration(self.transcript.model) is None:
                    self.workspace.keep_calibration(self.transcript.model, self.projection.tracker.calibration)

    def _fold(self, records: Sequence[Record], foreseen: Projection | None) -> None:
        self.figures = None
        kinds = {type(record.event) for record in records}
        if kinds & _RULING:
            self._rules = None
        if kinds & {ContextEdited, EditReverted}:
            self.edits_seen += EditReverted in kinds
            self.edits_seen += sum(isinstance(record.event, ContextEdited) for record in records)
        if foreseen is None:
            self.projection.apply(records)
        else:
            self.projection = foreseen

    def _foreseen(self, records: Sequence[Record], earlier: Sequence[Record] | None = None) -> Projection | None:
        """Returns the projection as it will be with these records. `earlier` are those before them, None if the store
        has them. Returns None if the records may be folded into the present projection, because nothing in them has to
        be counted, which may fail, or read."""
        kinds = {type(record.event) for record in records}
        models = [record.event.model for record in records if isinstance(record.event, ModelChanged)]
        changes_tokens = any(self.workspace.tokenizer(model) != self.projection.counter.name for model in models)
        if EditReverted in kinds or changes_tokens:
            # A reverted edit brings its archived messages back into the view, and a model with another tokenizer needs
            # all messages counted again. In both cases the whole log is folded again.
            before = self.workspace.ports.store.read(self.id, 0, records[0].position) if earlier is None else earlier
            stored = StoredSession(records=(*before, *records))
            return self.workspace.project(stored, models[-1] if models else self.transcript.model)
        if not (kinds & _COUNTED or any(map(self._is_uncounted, records))):
            return None
        projection = self.projection.copied()
        start = 1 + max((i for i, record in enumerate(records) if isinstance(record.event, ModelChanged)), default=-1)
        projection.apply(records[:start])
        kept = self.workspace.kept_calibration(models[-1]) if models else None
        if kept is not None:
            # What is known of the model that continues, which has the same tokenizer.
            projection.tracker.trust(kept)
        projection.apply(records[start:])
        return projection

    def _is_uncounted(self, record: Record) -> bool:
        event = record.event
        return isinstance(event, MessageAppended) and (
            event.count is None or event.count.counter != self.projection.counter.name
        )

    def _publish(self, events: Sequence[Event]) -> None:
        if self._pending is not None:
            self._pending += events
        else:
            self._changed(Changed(conversation=self, events=tuple(events)))


class Changed(Struct, frozen=True, kw_only=True, eq=False):
    """Published when a conversation has changed. `events` are the new events of its log, empty if the session was just
    created or only its figures changed. `is_ours` is False if another process recorded the events. `by_settings` is
    True if the settings of the workspace changed or the session is a new fork: nothing was said in it."""

    conversation: Conversation
    events: tuple[Event, ...]
    is_ours: bool = True
    by_settings: bool = False


def sized(used: int, edits: Iterable[ContextEdited]) -> Iterator[ContextEdited]:
    """Yields the edits, each with its `context_size_before`. `used` is the tokens in the context now."""
    for event in edits:
        if event.edit.context_size_before:
            yield event
        else:
            yield ContextEdited(edit=replace(event.edit, context_size_before=used))
            used -= event.edit.tokens_saved


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message in a page. `index` is its index in the transcript, from 0, where a `system` of `session/new` is
    the first message. `tokens` is its calibrated count in the context, 0 if it is archived. `inserted` is true for
    markers and notices, which an edit put into the view; their `index` is that of the message after them. `by_agent` is
    true for a message with the user's role that the agent's program wrote: a reminder, a command's output, a
    summary."""

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
    """Returns at most `limit` messages of the view after the first `offset`. Waits for automatic management."""
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
        records = store.read_edits(session_id)
        places = _places(records)
        for record in records:
            if isinstance(record.event, ContextEdited) and record.event.edit.id == checkpoint.edit_id:
                return places[record.position]
        raise EditNotFound(f"no edit {checkpoint.edit_id!r} was ever made in this session; context/history lists them")
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
    """Returns a time as Unix milliseconds. A text must be ISO 8601 (UTC without a zone). Raises `InvalidRequest`."""
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
