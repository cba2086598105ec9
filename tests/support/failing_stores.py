"""Stores that fail."""

from collections.abc import Sequence

from support.memory_store import MemoryStore
from ullage.model.errors import ConcurrentAppend, StoreUnavailable
from ullage.model.events import ContextEdited, Record


class FullDisk(MemoryStore):
    """A store with room for messages, but not for edits."""

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        if any(isinstance(record.event, ContextEdited) for record in records):
            raise StoreUnavailable("the session store cannot be written: the disk is full")
        super().append(session_id, records)


class ContestedStore(MemoryStore):
    """A store to which another process always appends first."""

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        raise ConcurrentAppend(f"session {session_id} has a newer record")
