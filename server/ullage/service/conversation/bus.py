"""The bus that carries updates and events to listeners and handlers, and the texts of notices.

A listener gets every update; doors send updates to their clients. A handler gets one kind of `ContextEvent` as a value.
Both may subscribe to one session only. An event is published once: handlers get the value, listeners get a notice.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.errors import (
    AuthenticationFailed,
    ContextTooLong,
    NoModelConfigured,
    ProviderUnavailable,
    RateLimited,
    UllageError,
)
from ullage.model.events import (
    AutoCompacting,
    CompactionComplete,
    CompactionEdit,
    ContextEvent,
    ContextWarning,
    DuplicateReadsEdit,
    Edit,
    compaction_block,
)
from ullage.model.updates import Meta, Notice, NoticeMeta, Severity, Update
from ullage.service.ports.models import Listener

E = TypeVar("E", bound=ContextEvent)
T = TypeVar("T")
Unsubscribe = Callable[[], None]
log = logging.getLogger(__name__)
# Short names for errors. The first class that matches is used.
_REASONS: dict[type[UllageError], str] = {
    RateLimited: "rate limit",
    ProviderUnavailable: "provider unavailable",
    AuthenticationFailed: "key refused",
    ContextTooLong: "context too long for the model",
    NoModelConfigured: "no model configured",
}
# How grave what a notice says is, by the notice's kind.
_SEVERITIES = {
    "auto_compacting": Severity.INFO,
    "breaker_opened": Severity.ERROR,
    "cannot_fit": Severity.ERROR,
    "compaction_complete": Severity.INFO,
    "compaction_due": Severity.WARNING,
    "compaction_failed": Severity.ERROR,
    "compaction_retried": Severity.WARNING,
    "compaction_vetoed": Severity.WARNING,
    "context_cleared": Severity.INFO,
    "context_warning": Severity.WARNING,
    "hook_failed": Severity.WARNING,
    "offline_summary_used": Severity.WARNING,
    "store_caught_up": Severity.INFO,
    "store_forked": Severity.WARNING,
    "store_offline": Severity.WARNING,
    "waiting_for_provider": Severity.INFO,
}


class _Listening(Struct, frozen=True, eq=False):
    listener: Listener
    session_id: str | None


class _Handling(Struct, frozen=True, eq=False):
    kind: type[Any]
    handler: Callable[[Any], object]
    session_id: str | None


class Bus:
    """Calls listeners with updates and handlers with events, in the order of subscription, on the event loop, before
    `emit` or `publish` returns. If one of them raises, the exception is logged and the others are still called."""

    def __init__(self) -> None:
        self._listening: list[_Listening] = []
        self._handling: list[_Handling] = []

    def listen(self, listener: Listener, session_id: str | None = None) -> Unsubscribe:
        """Subscribes a listener to the updates of all sessions, or of one. Returns a function that ends the
        subscription; calling that function twice is harmless."""
        return _added(self._listening, _Listening(listener, session_id))

    def subscribe(self, kind: type[E], handler: Callable[[E], object], session_id: str | None = None) -> Unsubscribe:
        """Subscribes a handler to one kind of events, of all sessions or of one. Returns what ends that."""
        return _added(self._handling, _Handling(kind, cast("Callable[[Any], object]", handler), session_id))

    def emit(self, session_id: str, update: Update) -> None:
        for listening in tuple(self._listening):
            if listening.session_id in (None, session_id):
                guarded(listening.listener.session_updated, session_id, update)

    def publish(self, event: ContextEvent) -> None:
        for handling in tuple(self._handling):
            if isinstance(event, handling.kind) and handling.session_id in (None, event.session_id):
                guarded(handling.handler, event)
        self.emit(event.session_id, notice_of(event))


def _added(entries: list[T], entry: T) -> Unsubscribe:
    entries.append(entry)

    def remove() -> None:
        if entry in entries:
            entries.remove(entry)

    return remove


def guarded(call: Callable[..., object], *arguments: object) -> None:
    """Calls a function of code outside Ullage. If it raises an exception, it is logged."""
    try:
        call(*arguments)
    except Exception:
        # The one boundary to code outside Ullage. An exception of a listener must not stop a compaction.
        log.exception("a listener failed")


def notice_of(event: ContextEvent) -> Notice:
    """Returns the notice that describes an event to the user."""
    match event:
        case ContextWarning():
            text = words.context_warning(
                event.used,
                event.window,
                event.compact_at,
                asks=event.asks,
                on_request=event.on_request,
                agent=event.agent,
            )
            return notice("context_warning", text)
        case AutoCompacting(used=used):
            return notice("auto_compacting", words.auto_compacting(used))
        case CompactionComplete(edit=edit):
            block = compaction_block(edit)
            text = words.compacted(block.messages_archived, block.context_size_before, block.context_size_after)
            return notice("compaction_complete", text, edit.id)


def context_cleared(what: str, before: int, after: int, edits: Sequence[Edit]) -> Notice:
    """Returns the notice that edits other than a compaction were applied. `what` names the removed content; `before`
    and `after` are tokens of the context. If repeated file reads were cleared, the description names each file."""
    cleared = notice("context_cleared", words.cleared(what, before, after), edits[-1].id)
    repeats = [edit for edit in edits if isinstance(edit, DuplicateReadsEdit)]
    texts = [words.repeated(edit.files, edit.tokens_saved / before) for edit in repeats]
    return replace(cleared, description=" ".join(texts)) if texts else cleared


def offline_summary_used(error: UllageError, edit: CompactionEdit) -> Notice:
    """Returns the notice that a compaction uses the offline summary because the model's summary failed with `error`."""
    block = compaction_block(edit)
    reason = next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), str(error))
    text = words.offline_summary_used(reason, block.context_size_before, block.context_size_after)
    return notice("offline_summary_used", text, edit.id)


def notice(kind: str, title: str, edit_id: str | None = None) -> Notice:
    """Returns a notice of this kind, about the edit `edit_id` if there is one. `model/words.py` has the titles."""
    meta = Meta(ullage=NoticeMeta(kind=kind, edit_id=edit_id))
    return Notice(severity=_SEVERITIES[kind], title=title, meta=meta)
