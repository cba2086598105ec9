"""Notices: the words of events as updates. Each has a `kind`, a stable word for programs."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.model import words
from ullage.model.context_events import AutoCompacting, CompactionComplete, ContextEvent, ContextWarning
from ullage.model.edits import DuplicateReadsEdit, Edit, compaction_block
from ullage.model.updates import Meta, Notice, NoticeMeta, Severity


def notice_of(event: ContextEvent) -> Notice:
    """An event of the bus in words."""
    match event:
        case ContextWarning(used=used, usable=usable, compact_at=compact_at):
            text = words.context_warning(used, usable, compact_at)
            return _notice("context_warning", Severity.WARNING, text)
        case AutoCompacting(used=used):
            return _notice("auto_compacting", Severity.INFO, words.auto_compacting(used))
        case CompactionComplete(edit=edit):
            block = compaction_block(edit)
            text = words.compacted(block.messages_archived, block.context_size_before, block.context_size_after)
            return _notice("compaction_complete", Severity.INFO, text, edit.id)


def context_cleared(what: str, before: int, after: int, edits: Sequence[Edit]) -> Notice:
    """Cheaper edits than a compaction have been applied; repeated file reads are described file by file."""
    notice = _notice("context_cleared", Severity.INFO, words.cleared(what, before, after), edits[-1].id)
    repeats = [edit for edit in edits if isinstance(edit, DuplicateReadsEdit)]
    texts = [words.repeated(edit.files, edit.tokens_saved / before) for edit in repeats]
    return replace(notice, description=" ".join(texts)) if texts else notice


def compaction_failed(reason: str) -> Notice:
    """An automatic compaction failed; what follows on the ladder is told separately."""
    return _notice("compaction_failed", Severity.ERROR, words.compaction_failed(reason))


def compaction_retried(what: str, reason: str) -> Notice:
    """A try at a summary failed, another way is tried."""
    return _notice("compaction_retried", Severity.WARNING, words.compaction_retried(what, reason))


def breaker_opened(reason: str, biggest: str, tokens: int) -> Notice:
    """Automatic compaction stops, since it does not help."""
    return _notice("breaker_opened", Severity.ERROR, words.breaker_opened(reason, biggest, tokens))


def cannot_fit(used: int, usable: int, biggest: str, tokens: int) -> Notice:
    """What must stay is more than the window holds."""
    return _notice("cannot_fit", Severity.ERROR, words.cannot_fit(used, usable, biggest, tokens))


def waiting_for_provider(provider: str, reason: str, seconds: float) -> Notice:
    """The provider is busy; another try follows."""
    return _notice("waiting_for_provider", Severity.INFO, words.waiting_for_provider(provider, reason, seconds))


def _notice(kind: str, severity: Severity, title: str, edit_id: str | None = None) -> Notice:
    return Notice(severity=severity, title=title, meta=Meta(ullage=NoticeMeta(kind=kind, edit_id=edit_id)))
