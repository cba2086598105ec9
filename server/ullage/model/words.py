"""The words of the events: one line each, the same in every editor."""

from ullage.model.updates import CompactionMeta, UsageMeta


def short(tokens: int) -> str:
    """A token figure for tight places: `950`, `58K`, `1.2M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_500:
        return f"{round(tokens / 1000)}K"
    return f"{tokens / 1_000_000:.1f}M"


def warning(used: int, usage: UsageMeta) -> str:
    """The context passed the warning threshold; `usage.usable` must be known."""
    usable = usage.usable or 1
    head = f"Context {round(100 * used / usable)}% full ({short(used)} of {short(usable)} usable)."
    return f"{head} Compacts by itself at {short(usage.compact_at)}." if usage.compact_at else head


def compacted(compaction: CompactionMeta) -> str:
    """A compaction ended well."""
    head = f"Compacted {_messages(compaction.messages_archived)}: {_shrinking(compaction)}."
    return f"{head} Everything is kept; undo any time."


def fell_back(compaction: CompactionMeta, reason: str) -> str:
    """The model's summary failed for `reason` and the offline summary took its place."""
    return f"The model's summary failed ({reason}). Used the offline summary instead: {_shrinking(compaction)}."


def nothing_to_compact(messages: int, tokens: int) -> str:
    """The context holds nothing that could go."""
    return f"Nothing to compact: {_messages(messages)}, {short(tokens)} tokens."


def stopped(culprit: str, tokens: int) -> str:
    """The breaker opened at its third refill; `culprit` names the biggest item (`pytest output in message 212`)."""
    return f"Compaction stopped after three refills: {culprit} alone is {short(tokens)} tokens."


def no_model() -> str:
    """There is no provider to chat with."""
    return (
        "No model is configured. Context tracking and offline compaction work; "
        "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or ullage.provider, to chat."
    )


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _shrinking(compaction: CompactionMeta) -> str:
    return f"{short(compaction.context_size_before)} → {short(compaction.context_size_after)}"
