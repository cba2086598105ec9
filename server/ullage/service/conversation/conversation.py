"""A conversation is the body of an open session. There is one per session id, and it may be held while the session is
open.

Everything that happens to a session is recorded here. The projection holds the state that follows from the log. The
guards and the work hold state that does not follow from the log, and survive when the projection is computed again.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import ConcurrentAppend, PreviewExpired
from ullage.model.events import (
    AgentAttached,
    ContextEdited,
    EditReverted,
    Event,
    ModelChanged,
    Record,
    SessionConfigured,
)
from ullage.model.settings import ContextSettings, Settings, overridden
from ullage.model.updates import Update, UsageMeta
from ullage.policy.breaker import Breaker
from ullage.policy.budget import ContextBudget, make_budget
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.planned import Previewed
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.work import Ask, Work
from ullage.service.ports.models import Provider
from ullage.service.ports.store import StoredSession
from ullage.transcript.fold import Transcript

# Another process may append to the session between our read and our write. Each try first reads the new records.
_APPEND_TRIES = 8
# Events that may change a conversation's model, settings or budget.
_RULING = {AgentAttached, ModelChanged, SessionConfigured}


class Guards:
    """State of automatic management and of prompt turns that is not in the log. It survives an undo.

    `vetoed_at`: tokens in the context when a hook last vetoed a compaction. `cleared_at`: tokens in the context when
    nothing could be cleared the last time. `warned_unfit`: the user has been shown that the context cannot fit the
    window. `warned_due`: the user has been shown that a compaction waits for approval. `previews`: previews that can be
    committed, by id. `replays`: a recording answers the prompts. `provider_clears`: the provider clears old tool
    results by itself. `permitted`: names of the tools that the user always allows.
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


class _Rules(Struct, frozen=True, kw_only=True):
    """Model, settings and budget at one position of the log. `under` are the workspace's settings they were computed
    from."""

    under: Settings
    model: str
    settings: ContextSettings
    budget: ContextBudget | None


class Conversation:
    """An open session. `edits_seen` grows with every edit made or reverted, in this process or in another. `figures` is
    what `usage_meta` has worked out since the last change; None if it has not been called.

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
        self._changed = changed
        self._pending: list[Event] | None = None
        self._rules: _Rules | None = None
        self._version: int | None = None

    @property
    def transcript(self) -> Transcript:
        """The folded log."""
        return self.projection.transcript

    @property
    def used(self) -> int:
        """Tokens in the context now: the provider's last usage plus a local count of later messages, or a local
        count alone."""
        return self.projection.used

    @property
    def model(self) -> str:
        """The session's model, or the model of the workspace's settings. Empty if neither is set."""
        return self._in_force().model

    @property
    def settings(self) -> ContextSettings:
        """The context settings in effect: the session's own fields, and the workspace's for all others."""
        return self._in_force().settings

    @property
    def budget(self) -> ContextBudget | None:
        """The thresholds in tokens, or None while the model's window is unknown."""
        return self._in_force().budget

    @property
    def is_managed(self) -> bool:
        """Whether the context is managed automatically. A replayed recording is not managed: it must stay as it was
        recorded."""
        return self.settings.enabled and not self.guards.replays

    @property
    def max_output(self) -> int | None:
        """The most tokens that the model can write in one answer, or None if unknown."""
        return self.workspace.limits(self.model).max_output

    @property
    def provider(self) -> Provider:
        """The provider of the session's model. Raises `NoModelConfigured` or `SdkMissing`."""
        return self.workspace.ports.providers(self.model, self.workspace.settings)

    def record(self, *events: Event) -> None:
        """Appends events to the log, folds them and publishes `Changed`. Without events only `Changed` is published.

        Raises `PreviewExpired` if one of the events is an edit and another process has edited the session first.
        """
        edits = any(isinstance(event, ContextEdited) for event in events)
        for _ in range(_APPEND_TRIES):
            seen = self.edits_seen
            try:
                self._append(events)
            except ConcurrentAppend:
                self._read_on()
                if edits and self.edits_seen != seen:
                    raise PreviewExpired("the session was edited elsewhere meanwhile; look again") from None
            else:
                return
        raise ConcurrentAppend(f"session {self.id}: other processes keep appending; try again")

    def catch_up(self) -> None:
        """Folds the records that other processes have appended, and publishes them as `Changed`. Raises
        `SessionNotFound`."""
        # The version is read before the log: if another process writes in between, the next call reads again.
        version = self.workspace.ports.store.version()
        if version != self._version:
            self._read_on()
            self._version = version

    def _read_on(self) -> None:
        records = self.workspace.ports.store.read(self.id, self.transcript.position + 1)
        if records:
            self._take_in(records)
            events = tuple(record.event for record in records)
            self._changed(Changed(conversation=self, events=events, is_ours=False))

    def take_count(self, tokens: int) -> None:
        """Takes the provider's own token count of the next prompt as the size of the context, until a usage is
        reported."""
        self.projection.tracker.take_count(tokens, self.workspace.ports.clock.now())
        self.figures = None
        self._publish(())

    def adapt(self) -> None:
        """Adapts to changed settings of the workspace: counts again if the token counter is another, and publishes
        `Changed`."""
        counter = self.workspace.counter(self.model)
        if counter is not self.projection.counter:
            self.projection.use_counter(counter, self.workspace.calibration(self.model))
        self.figures = None
        self._publish(())

    @contextmanager
    def one_change(self) -> Generator[None]:
        """Publishes a single `Changed` at the end for everything that is recorded inside the block."""
        pending: list[Event] = []
        self._pending = pending
        try:
            yield
        finally:
            self._pending = None
            if pending:
                self._publish(pending)

    def imagine(self, *events: Event) -> "Conversation":
        """Returns the conversation as it would be with these events at the end of its log. Nothing may be recorded
        in the result."""
        records = self.workspace.ports.store.read(self.id)
        imagined = StoredSession(records=(*records, *self.workspace.records(len(records), events)))
        projection = self.workspace.project(self.id, imagined)
        return Conversation(self.id, self.workspace, projection, lambda _: None, self.guards)

    async def settled(self) -> None:
        """Waits until no automatic compaction runs."""
        await self.work.wait(Ask.READ)

    def keep_snapshot(self) -> None:
        """Saves a snapshot, so that the next load need not fold the archived part of the log."""
        self.workspace.ports.store.save_snapshot(self.id, self.transcript.position, self.projection.snapshot())

    def keep_calibration(self) -> None:
        """Saves the model's calibration, for other sessions with the same model."""
        self.workspace.keep_calibration(self.model, self.projection.tracker.calibration)

    def emit(self, update: Update) -> None:
        """Publishes an update of this session to the listeners."""
        self.workspace.bus.emit(self.id, update)

    def _in_force(self) -> _Rules:
        if self._rules is None or self._rules.under is not self.workspace.settings:
            self._rules = _rules_of(self.workspace, self.transcript)
            self.figures = None
        return self._rules

    def _append(self, events: Sequence[Event]) -> None:
        if events:
            store = self.workspace.ports.store
            records = self.workspace.records(self.transcript.position + 1, _sized(self.used, events))
            if any(isinstance(event, EditReverted) for event in events):
                store.drop_snapshot(self.id)
            store.append(self.id, records)
            self._take_in(records)
        self._publish(events)

    def _take_in(self, records: Sequence[Record]) -> None:
        self.figures = None
        kinds = {type(record.event) for record in records}
        if kinds & _RULING:
            self._rules = None
        if EditReverted in kinds:
            # A reverted edit brings its archived messages back into the view, so the whole log is folded again.
            self.projection = self.workspace.load(self.id)
            self.edits_seen += 1
            return
        self.projection.apply(records)
        if ContextEdited in kinds:
            self.edits_seen += sum(isinstance(record.event, ContextEdited) for record in records)
        if ModelChanged in kinds:
            model = self.transcript.model
            self.projection.use_counter(self.workspace.counter(model), self.workspace.calibration(model))

    def _publish(self, events: Sequence[Event]) -> None:
        if self._pending is not None:
            self._pending += events
        else:
            self._changed(Changed(conversation=self, events=tuple(events)))


class Changed(Struct, frozen=True, kw_only=True, eq=False):
    """Published when a conversation has changed. `events` are the new events of its log. `events` is empty if the
    session was just created or only its figures changed. `is_ours` is false if another process recorded the events."""

    conversation: Conversation
    events: tuple[Event, ...]
    is_ours: bool = True


def _rules_of(workspace: Environment, transcript: Transcript) -> _Rules:
    model = transcript.model or workspace.settings.model
    settings = overridden(workspace.settings.context, transcript.context)
    limits, agent = workspace.limits(model), transcript.agent
    budget = None
    if agent is not None and agent.window is not None:
        budget = make_budget(agent.window, limits.max_output, settings)
    elif limits.input is not None:
        budget = make_budget(limits.input, limits.max_output, settings, limits.total)
    return _Rules(under=workspace.settings, model=model, settings=settings, budget=budget)


def _sized(used: int, events: Sequence[Event]) -> Iterator[Event]:
    """Yields the events. If all are edits, each edit without a `context_size_before` gets the size of the context
    before it."""
    if not all(isinstance(event, ContextEdited) for event in events):
        yield from events
        return
    for event in events:
        if isinstance(event, ContextEdited) and not event.edit.context_size_before:
            yield ContextEdited(edit=replace(event.edit, context_size_before=used))
            used -= event.edit.tokens_saved
        else:
            yield event
