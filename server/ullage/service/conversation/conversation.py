"""A conversation: the body of an open session, one per session id for as long as it is open. It may be held.

Everything that happens to a session is recorded here. What follows from the log is its projection; what does not
(how automatic management stands, what runs) stays with the conversation when the projection is made anew.
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

# Another process may append to the same session between our reading and writing; each try reads on first.
_APPEND_TRIES = 8
# Events that may change a conversation's model, settings or budget.
_RULING = {AgentAttached, ModelChanged, SessionConfigured}


class Guards:
    """How automatic management stands in a conversation, and what its turns have found out.

    `vetoed_at` and `cleared_at` are the tokens in context when a hook last stopped a compaction, and when there was
    last nothing to clear. `told_unfit`: the user knows that the context cannot fit; `told_due`: that a compaction waits
    for them. `replays`: a recording answers; `provider_clears`: the provider clears old tool uses itself. `permitted`
    names the tools that the user always allows.
    """

    def __init__(self) -> None:
        self.breaker = Breaker()
        self.vetoed_at = 0
        self.cleared_at = 0
        self.told_unfit = False
        self.told_due = False
        self.previews: dict[str, Previewed] = {}
        self.replays = False
        self.provider_clears = False
        self.permitted: set[str] = set()


class _Rules(Struct, frozen=True, kw_only=True):
    """What holds for a conversation at one position of its log, under the workspace's settings `under`."""

    under: Settings
    model: str
    settings: ContextSettings
    budget: ContextBudget | None


class Conversation:
    """An open session. `edits_seen` changes with every edit made or reverted, here or by another process. `figures` is
    what `usage_meta` has worked out since the last change; None if it has not.

    `workspace.open` gives it up to date with the store; `record` and `catch_up` keep it so.
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
        self._held: list[Event] | None = None
        self._rules: _Rules | None = None
        self._version: int | None = None

    @property
    def transcript(self) -> Transcript:
        """The log, folded."""
        return self.projection.transcript

    @property
    def used(self) -> int:
        """Tokens in context now, by the best knowledge there is."""
        return self.projection.used

    @property
    def model(self) -> str:
        """The session's model, or the one that the settings name; empty while unknown."""
        return self._in_force().model

    @property
    def settings(self) -> ContextSettings:
        """The context settings in effect: the session's own, and the workspace's where it has none."""
        return self._in_force().settings

    @property
    def budget(self) -> ContextBudget | None:
        """The thresholds; None while the model's window is unknown."""
        return self._in_force().budget

    @property
    def is_managed(self) -> bool:
        """Whether the context is managed automatically. A replay's is not: it is what it was when it was recorded."""
        return self.settings.enabled and not self.guards.replays

    @property
    def max_output(self) -> int | None:
        """The most tokens of one answer of the model; None if unknown."""
        return self.workspace.limits(self.model).max_output

    @property
    def provider(self) -> Provider:
        """The provider that answers. Raises `NoModelConfigured` or `SdkMissing`."""
        return self.workspace.ports.providers(self.model, self.workspace.settings)

    def record(self, *events: Event) -> None:
        """Appends events to the log, takes them in and publishes `Changed`, without events as well.

        Raises `PreviewExpired` if an edit is among the events and another process edited the session first.
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
        """Takes in what other processes have appended, and publishes that as `Changed`. Raises `SessionNotFound`."""
        # Asked before the log is read: what is written in between is another version, which is read next time.
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
        """Takes the provider's own count of the next prompt for the size of the context, until it reports one."""
        self.projection.tracker.take_count(tokens, self.workspace.ports.clock.now())
        self.figures = None
        self._publish(())

    def adapt(self) -> None:
        """Takes in that the workspace's settings have changed: another counter perhaps, other thresholds."""
        counter = self.workspace.counter(self.model)
        if counter is not self.projection.counter:
            self.projection.use_counter(counter, self.workspace.calibration(self.model))
        self.figures = None
        self._publish(())

    @contextmanager
    def one_change(self) -> Generator[None]:
        """Publishes one `Changed` at the end for everything that is recorded inside."""
        held: list[Event] = []
        self._held = held
        try:
            yield
        finally:
            self._held = None
            if held:
                self._publish(held)

    def imagine(self, *events: Event) -> "Conversation":
        """The conversation as it would be with these events at the end of its log. Nothing can be recorded in it."""
        records = self.workspace.ports.store.read(self.id)
        imagined = StoredSession(records=(*records, *self.workspace.records(len(records), events)))
        projection = self.workspace.project(self.id, imagined)
        return Conversation(self.id, self.workspace, projection, lambda _: None, self.guards)

    async def settled(self) -> None:
        """Waits until no automatic run is under way."""
        await self.work.wait(Ask.READ)

    def keep_snapshot(self) -> None:
        """Saves the state, so that the session opens without its archived part."""
        self.workspace.ports.store.save_snapshot(self.id, self.transcript.position, self.projection.snapshot())

    def keep_calibration(self) -> None:
        """Saves what was learned about the model's counts, for other sessions."""
        self.workspace.keep_calibration(self.model, self.projection.tracker.calibration)

    def emit(self, update: Update) -> None:
        """Sends an update of this session to every listener."""
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
            # What an edit archived is back in the view once the edit is reverted: the log is read again.
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
        if self._held is not None:
            self._held += events
        else:
            self._changed(Changed(conversation=self, events=tuple(events)))


class Changed(Struct, frozen=True, kw_only=True, eq=False):
    """A conversation has changed, by these events of its log. Without events it has begun, or its figures are others.
    `is_ours` is false if another process recorded them."""

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
    """The events. If they are edits alone, each gets the size of the context that it is made on, unless it has one."""
    if not all(isinstance(event, ContextEdited) for event in events):
        yield from events
        return
    for event in events:
        if isinstance(event, ContextEdited) and not event.edit.context_size_before:
            yield ContextEdited(edit=replace(event.edit, context_size_before=used))
            used -= event.edit.tokens_saved
        else:
            yield event
