"""The in-process bus: who is told what happens in sessions.

A listener gets every update, as the doors pass them on; a handler gets one kind of `ContextEvent` as a value. Both may
ask for one session alone. An event is told once: to its handlers, and as a notice to the listeners.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import Struct

from ullage.model.context_events import ContextEvent
from ullage.model.updates import Update
from ullage.service.conversation.notices import notice_of
from ullage.service.ports.world import Listener

E = TypeVar("E", bound=ContextEvent)
Unsubscribe = Callable[[], None]
log = logging.getLogger(__name__)


class _Listening(Struct, frozen=True, eq=False):
    listener: Listener
    session_id: str | None


class _Handling(Struct, frozen=True, eq=False):
    kind: type[Any]
    handler: Callable[[Any], object]
    session_id: str | None


class Bus:
    """Calls come in the order of subscription, on the event loop, before `emit` or `publish` returns. One that raises
    is logged and harms neither the others nor whoever tells."""

    def __init__(self) -> None:
        self._listening: list[_Listening] = []
        self._handling: list[_Handling] = []

    def listen(self, listener: Listener, session_id: str | None = None) -> Unsubscribe:
        """Tells `listener` of every update, or of one session's. What it returns ends that; again does nothing."""
        return _added(self._listening, _Listening(listener, session_id))

    def subscribe(self, kind: type[E], handler: Callable[[E], object], session_id: str | None = None) -> Unsubscribe:
        """Calls `handler` with every event of a kind, or with one session's. What it returns ends that."""
        return _added(self._handling, _Handling(kind, cast("Callable[[Any], object]", handler), session_id))

    def emit(self, session_id: str, update: Update) -> None:
        """Tells the listeners."""
        for listening in tuple(self._listening):
            if listening.session_id in (None, session_id):
                _guarded(listening.listener.session_updated, session_id, update)

    def publish(self, event: ContextEvent) -> None:
        """Tells the handlers of an event, and the listeners in the words for people."""
        for handling in tuple(self._handling):
            if isinstance(event, handling.kind) and handling.session_id in (None, event.session_id):
                _guarded(handling.handler, event)
        self.emit(event.session_id, notice_of(event))


T = TypeVar("T")


def _added(entries: list[T], entry: T) -> Unsubscribe:
    entries.append(entry)

    def remove() -> None:
        if entry in entries:
            entries.remove(entry)

    return remove


def _guarded(call: Callable[..., object], *arguments: object) -> None:
    try:
        call(*arguments)
    except Exception:
        # The one boundary to code that is not ours: a listener's fault must not stop a compaction.
        log.exception("a listener failed")
