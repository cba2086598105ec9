"""The workspace: open sessions, the ports they need, and who listens. All state of a running server is here."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage.model.errors import ConcurrentAppend, PreviewExpired
from ullage.model.events import ContextEdited, EditReverted, Event, ModelChanged, Record
from ullage.model.settings import ContextSettings, Settings, overridden
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.policy.budget import ContextBudget, make_budget
from ullage.service.conversation.bus import Bus
from ullage.service.conversation.session import Preparation, Session
from ullage.service.conversation.turn_queue import TurnQueue
from ullage.service.ports.models import EditorFiles, ModelLimits, Permissions, Provider
from ullage.service.ports.ports import Ports
from ullage.service.ports.store import StoredSession
from ullage.service.ports.world import IndexingListener
from ullage.summary.reading.reader import Reader
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import TokenCounter
from ullage.tokens.registry import get_counter

# Another process may append to the same session between our reading and writing; each try reads on first.
_APPEND_TRIES = 8


class Workspace:
    """Sessions by id, opened on first use and kept until closed. Runs on one event loop."""

    def __init__(self, ports: Ports, settings: Settings | None = None) -> None:
        self.ports = ports
        self.settings = settings or Settings()
        self.bus = Bus()
        self.reader = Reader()
        self.indexing_listeners: list[IndexingListener] = []
        self.runs: dict[str, asyncio.Task[None]] = {}
        self.compacting: dict[str, asyncio.Task[Any]] = {}
        self.background: set[asyncio.Task[None]] = set()
        self.preparations: dict[str, Preparation] = {}
        self.turns = TurnQueue()
        self.permissions: Permissions | None = None
        self.editor_files: EditorFiles | None = None
        self._open: dict[str, Session] = {}
        self._limits: dict[str, ModelLimits] = {}
        self._appending: dict[str, asyncio.Lock] = {}

    def session(self, session_id: str) -> Session:
        """The session, up to date with the store. Raises `SessionNotFound`."""
        session = self._open.get(session_id)
        if session is None:
            return self._load(session_id)
        return self._catch_up(session)

    def appending(self, session_id: str) -> asyncio.Lock:
        """Held by one append at a time: a message that takes long to count must not be overtaken by the next."""
        return self._appending.setdefault(session_id, asyncio.Lock())

    def adopt(self, session_id: str, events: Sequence[Event]) -> Session:
        """Starts a session whose log begins with these events."""
        self.ports.store.create(session_id, self._records(0, events))
        return self._load(session_id)

    def fork(self, position: int, session_id: str, event: Event) -> Session:
        """Starts a session that inherits the parent's log up to `position`."""
        self.ports.store.create(session_id, self._records(position + 1, [event]))
        return self._load(session_id)

    def forget(self, session_id: str) -> None:
        """Closes a session in memory."""
        self.cancel(session_id)
        self.drop_preparation(session_id)
        self._open.pop(session_id, None)
        self._appending.pop(session_id, None)

    async def end(self, session_id: str) -> None:
        """Stops what is running in a session, and closes it in memory once nothing writes to it any more."""
        self.cancel(session_id)
        await self.turns.end(session_id)
        self.forget(session_id)

    def cancel(self, session_id: str) -> None:
        """Stops what is running in a session: a prompt turn, an automatic run, a compaction that was asked for, a
        summary that is being prepared."""
        self.turns.cancel(session_id)
        preparation = self.preparations.get(session_id)
        if preparation is not None and not preparation.task.done():
            self.drop_preparation(session_id)
        for tasks in (self.runs, self.compacting):
            if session_id in tasks:
                tasks[session_id].cancel()

    def drop_preparation(self, session_id: str) -> None:
        """Forgets a prepared summary, and ends its writing."""
        preparation = self.preparations.pop(session_id, None)
        if preparation is not None:
            preparation.task.cancel()

    def record(self, session: Session, *events: Event) -> Session:
        """Appends events to the log and takes them in. Returns the session to go on with.

        Raises `PreviewExpired` if an edit is among the events and another process edited the session first.
        """
        edits = any(isinstance(event, ContextEdited) for event in events)
        for _ in range(_APPEND_TRIES):
            seen = session.edits_seen
            try:
                return self._append(session, events)
            except ConcurrentAppend:
                session = self._catch_up(session)
                if edits and session.edits_seen != seen:
                    raise PreviewExpired("the session was edited elsewhere meanwhile; look again") from None
        raise ConcurrentAppend(f"session {session.id}: other processes keep appending; try again")

    def is_open(self, session_id: str) -> bool:
        """Whether the session is in memory."""
        return session_id in self._open

    def imagine(self, session: Session, *events: Event) -> Session:
        """The session as it would be with these events at the end of its log, beside the open one."""
        records = self.ports.store.read(session.id)
        return self._fresh(session.id, StoredSession(records=(*records, *self._records(len(records), events))))

    def keep_snapshot(self, session: Session) -> None:
        """Saves the state, so that the session opens without its archived part."""
        self.ports.store.save_snapshot(session.id, session.transcript.position, session.snapshot())

    def emit(self, session_id: str, update: Update) -> None:
        """Tells every listener."""
        self.bus.emit(session_id, update)

    def model(self, session: Session) -> str:
        """The session's model, or the one assumed by the settings."""
        return session.model or self.settings.model

    def provider(self, session: Session) -> Provider:
        """Who answers in a session. Raises `NoModelConfigured` or `SdkMissing`."""
        return self.ports.providers(self.model(session), self.settings)

    def max_output(self, session: Session) -> int | None:
        """The most tokens of one answer of the session's model; None where nothing is known."""
        return self.ports.catalog(self.model(session), self.settings.models).max_output

    def is_managed(self, session: Session) -> bool:
        """Whether the context is watched: not in a replay, whose context is what it was."""
        return self.settings_of(session).enabled and session.id not in self.turns.replayed

    def settings_of(self, session: Session) -> ContextSettings:
        """The context settings in effect for a session: its own, and the workspace's where it has none."""
        return overridden(self.settings.context, session.transcript.context)

    def budget(self, session: Session) -> ContextBudget | None:
        """The session's thresholds; None while its model's window is unknown."""
        limits, agent = self._limits_of(self.model(session)), session.transcript.agent
        if agent is not None and agent.window is not None:
            return make_budget(agent.window, limits.max_output, self.settings_of(session))
        if limits.input is None:
            return None
        return make_budget(limits.input, limits.max_output, self.settings_of(session), limits.total)

    def configure(self, settings: Settings) -> None:
        """Takes new settings."""
        self.settings = settings
        self._limits.clear()

    @property
    def open_sessions(self) -> tuple[Session, ...]:
        """The sessions in memory."""
        return tuple(self._open.values())

    def choose_counter(self, session: Session) -> None:
        """Counts with the counter the session's model and the settings ask for, if that is another one."""
        model = self.model(session)
        counter = self._counter(model)
        if counter is not session.counter:
            session.use_counter(counter, self._calibration(model))

    def keep_calibration(self, session: Session) -> None:
        """Keeps what was learned about the model's counts for other sessions."""
        self.ports.store.save_calibration(self.model(session), msgspec.json.encode(session.tracker.calibration))

    def _limits_of(self, model: str) -> ModelLimits:
        if model not in self._limits:
            self._limits[model] = self.ports.catalog(model, self.settings.models)
        return self._limits[model]

    def _load(self, session_id: str) -> Session:
        stored = self.ports.store.open(session_id)
        if stored.snapshot is not None and any(isinstance(record.event, EditReverted) for record in stored.records):
            # Another process kept its state after an edit of it was taken back: what was archived is not in it.
            self.ports.store.drop_snapshot(session_id)
            stored = self.ports.store.open(session_id)
        session = self._open[session_id] = self._fresh(session_id, stored)
        return session

    def _fresh(self, session_id: str, stored: StoredSession) -> Session:
        model = self.ports.store.info(session_id).model or self.settings.model
        session = Session(session_id, self._counter(model), self._calibration(model), self._cost)
        session.restore(stored)
        return session

    def _cost(self, model: str, usage: Usage) -> float | None:
        price = self.ports.prices(model or self.settings.model)
        return None if price is None else price.cost(usage)

    def _counter(self, model: str) -> TokenCounter:
        override = self.settings.models.get(model)
        return get_counter(model, override.encoding if override else None)

    def _calibration(self, model: str) -> Calibration:
        kept = self.ports.store.load_calibration(model)
        return (
            msgspec.json.decode(kept, type=Calibration) if kept else Calibration.prior(self._counter(model).error_share)
        )

    def _catch_up(self, session: Session) -> Session:
        return self._take_in(session, self.ports.store.read(session.id, session.transcript.position + 1))

    def _append(self, session: Session, events: Sequence[Event]) -> Session:
        records = self._records(session.transcript.position + 1, _sized(session.used, events))
        if any(isinstance(event, EditReverted) for event in events):
            self.ports.store.drop_snapshot(session.id)
        self.ports.store.append(session.id, records)
        return self._take_in(session, records)

    def _take_in(self, session: Session, records: Sequence[Record]) -> Session:
        if any(isinstance(record.event, EditReverted) for record in records):
            return self._refold(session)
        session.apply(records)
        if any(isinstance(record.event, ModelChanged) for record in records):
            session.use_counter(self._counter(session.model), self._calibration(session.model))
        return session

    def _refold(self, session: Session) -> Session:
        """Reads the log again: what an edit archived is back in the view once it is reverted."""
        fresh = self._load(session.id)
        fresh.breaker, fresh.edits_seen = session.breaker, session.edits_seen + 1
        fresh.told_unfit, fresh.told_due = session.told_unfit, session.told_due
        return fresh

    def _records(self, position: int, events: Iterable[Event]) -> list[Record]:
        now = self.ports.clock.now()
        return [Record(position=position + i, timestamp=now, event=event) for i, event in enumerate(events)]


def _sized(used: int, events: Sequence[Event]) -> Iterator[Event]:
    """The events; edits alone, as they are made here, get the size of the context that each is made on."""
    if not all(isinstance(event, ContextEdited) for event in events):
        yield from events
        return
    for event in events:
        if isinstance(event, ContextEdited) and not event.edit.context_size_before:
            yield ContextEdited(edit=replace(event.edit, context_size_before=used))
            used -= event.edit.tokens_saved
        else:
            yield event
