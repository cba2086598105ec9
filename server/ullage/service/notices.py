"""The words of events, the same at every door. Each has a `kind`, a stable word for programs."""

from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.updates import Meta, Notice, NoticeMeta, Severity
from ullage.policy.budget import ContextBudget


def short(tokens: int) -> str:
    """A token count for tight places: `950`, `58K`, `1.2M`."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 1_000_000:
        return f"{tokens / 1_000:.1f}".removesuffix(".0") + "K" if tokens < 10_000 else f"{round(tokens / 1_000)}K"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"


def context_warning(used: int, budget: ContextBudget) -> Notice:
    """The context crossed the warning threshold."""
    share = round(100 * used / budget.usable)
    return _notice(
        "context_warning",
        Severity.WARNING,
        f"Context {share}% full ({short(used)} of {short(budget.usable)} usable). "
        f"Compacts by itself at {short(budget.compact_at)}.",
    )


def auto_compacting(used: int) -> Notice:
    """An automatic compaction begins."""
    return _notice("auto_compacting", Severity.INFO, f"Compacting the context ({short(used)})…")


def compaction_complete(edit: CompactionEdit) -> Notice:
    """A compaction has been applied."""
    block = compaction_block(edit)
    return _notice(
        "compaction_complete",
        Severity.INFO,
        f"Compacted {block.messages_archived} messages: {short(block.context_size_before)} → "
        f"{short(block.context_size_after)}. Everything is kept; undo any time.",
        edit.id,
    )


def context_cleared(what: str, before: int, after: int, edit_id: str) -> Notice:
    """A cheaper edit than a compaction has been applied."""
    return _notice(
        "context_cleared", Severity.INFO, f"Cleared {what}: {short(before)} → {short(after)}. Undo any time.", edit_id
    )


def compaction_failed(reason: str) -> Notice:
    """A compaction failed; the context is as it was."""
    return _notice("compaction_failed", Severity.ERROR, f"Compaction failed: {reason}")


def breaker_opened(biggest: str) -> Notice:
    """Automatic compaction stops, since it does not help."""
    return _notice("breaker_opened", Severity.ERROR, f"Automatic compaction stopped, it does not help: {biggest}")


def nothing_to_compact(messages: int, used: int) -> str:
    """Why a compaction was not made."""
    return f"Nothing to compact: {messages} messages, {short(used)} tokens."


def _notice(kind: str, severity: Severity, title: str, edit_id: str | None = None) -> Notice:
    return Notice(severity=severity, title=title, meta=Meta(ullage=NoticeMeta(kind=kind, edit_id=edit_id)))
