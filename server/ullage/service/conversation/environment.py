"""What all conversations of a workspace share: ports, settings, the bus, token counters and limits of models."""

from collections.abc import Iterable

import msgspec

from ullage.edits.counted import Stamp
from ullage.model.edits import EditTrigger
from ullage.model.events import EditReverted, Event, Record
from ullage.model.settings import Settings
from ullage.model.usage import Usage
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.publish import Bus
from ullage.service.ports.models import EditorFiles, ModelLimits, Permissions
from ullage.service.ports.ports import Ports
from ullage.service.ports.store import StoredSession
from ullage.service.ports.world import IndexingListener
from ullage.summary.reading.text_reader import Reader
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import TokenCounter
from ullage.tokens.counter_choice import get_counter


class Environment:
    """The state that conversations share. `permissions` and `editor_files` are None unless a door sets them."""

    def __init__(self, ports: Ports, settings: Settings | None = None) -> None:
        self.ports = ports
        self.settings = settings or Settings()
        self.bus = Bus()
        self.reader = Reader()
        self.indexing_listeners: list[IndexingListener] = []
        self.permissions: Permissions | None = None
        self.editor_files: EditorFiles | None = None
        self._limits: dict[str, ModelLimits] = {}
        self._kept: dict[str, Calibration] = {}

    def new_stamp(self, trigger: EditTrigger = EditTrigger.AUTOMATIC) -> Stamp:
        """Returns a new edit's id, the present time and the trigger."""
        return Stamp(id=self.ports.ids.new("e"), timestamp=self.ports.clock.now(), trigger=trigger)

    def limits(self, model: str) -> ModelLimits:
        """Returns a model's limits in tokens. The user's settings override the catalog."""
        if model not in self._limits:
            self._limits[model] = self.ports.catalog(model, self.settings.models)
        return self._limits[model]

    def counter(self, model: str) -> TokenCounter:
        """Returns the token counter for a model, or for the encoding that the settings name for the model."""
        override = self.settings.models.get(model)
        return get_counter(model, override.encoding if override else None)

    def calibration(self, model: str) -> Calibration:
        """Returns the calibration of a model's counts, learned in all sessions, or the prior if none was learned."""
        kept = self.ports.store.load_calibration(model)
        return (
            msgspec.json.decode(kept, type=Calibration) if kept else Calibration.prior(self.counter(model).error_share)
        )

    def keep_calibration(self, model: str, learned: Calibration) -> None:
        """Saves what was learned about a model's counts, unless it is what was saved last."""
        if self._kept.get(model) != learned:
            self.ports.store.save_calibration(model, msgspec.json.encode(learned))
            self._kept[model] = learned

    def records(self, position: int, events: Iterable[Event]) -> list[Record]:
        """Returns the events as records with the present time. The first record gets `position`."""
        now = self.ports.clock.now()
        return [Record(position=position + i, timestamp=now, event=event) for i, event in enumerate(events)]

    def load(self, session_id: str) -> Projection:
        """Reads a session from the store and returns its projection. Raises `SessionNotFound`."""
        store = self.ports.store
        stored = store.open(session_id)
        if stored.snapshot is not None and any(isinstance(record.event, EditReverted) for record in stored.records):
            # Another process saved its snapshot after this edit was reverted. Such a snapshot lacks the messages that
            # the edit archived.
            store.drop_snapshot(session_id)
            stored = store.open(session_id)
        return self.project(session_id, stored)

    def project(self, session_id: str, stored: StoredSession) -> Projection:
        """Folds a stored log of this session into a projection. Raises `SessionNotFound`."""
        model = self.ports.store.info(session_id).model or self.settings.model
        projection = Projection(self.counter(model), self.calibration(model), self._cost)
        projection.restore(stored)
        return projection

    def _cost(self, model: str, usage: Usage) -> float | None:
        price = self.ports.prices(model or self.settings.model)
        return None if price is None else price.cost(usage)
