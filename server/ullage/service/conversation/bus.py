"""The bus that carries updates to listeners, such as a door that sends them to its client, and the texts of notices."""

import logging
from collections.abc import Callable, Sequence

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
    CompactionEdit,
    DuplicateReadsEdit,
    Edit,
    compaction_block,
)
from ullage.model.updates import Meta, Notice, NoticeMeta, Severity, Update
from ullage.service.ports.models import Listener

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


class Bus:
    """Calls listeners with updates, in the order of subscription, on the event loop, before `emit` returns. If one of
    them raises, the exception is logged and the others are still called."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Subscribes a listener to the updates of all sessions."""
        self._listeners.append(listener)

    def emit(self, session_id: str, update: Update) -> None:
        for listener in tuple(self._listeners):
            guarded(listener.session_updated, session_id, update)


def guarded(call: Callable[..., object], *arguments: object) -> None:
    """Calls a function of code outside Ullage. If it raises an exception, it is logged."""
    try:
        call(*arguments)
    except Exception:
        # The one boundary to code outside Ullage. An exception of a listener must not stop a compaction.
        log.exception("a listener failed")


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
