"""The answer of `/context`: how full a context is, and its parts, in Markdown."""

from collections.abc import Iterator

from ullage.api.values import UsageResult
from ullage.model import words
from ullage.model.usage import Breakdown


def context_text(usage: UsageResult) -> str:
    """Returns a session's usage as Markdown: a headline, the parts in tokens, the numbers of messages and compactions,
    and the thresholds if they are known."""
    meta = usage.meta.ullage
    parts = [*_parts(meta.breakdown, meta.hidden.name)]
    lines = [
        f"**{words.context_line(usage.used, usage.size, meta.source)}**",
        "",
        *([*parts, ""] if parts else ()),
        f"{meta.messages_active:,} messages in the context, {meta.messages_archived:,} archived, "
        f"{meta.compactions:,} compactions.",
    ]
    if meta.warn_at is not None and meta.compact_at is not None:
        lines.append(f"Warns at {words.short(meta.warn_at)}, compacts at {words.short(meta.compact_at)}.")
    return "\n".join(lines)


def _parts(breakdown: Breakdown, hidden: str) -> Iterator[str]:
    figures = {
        "System prompt": breakdown.system_prompt,
        "Tools": breakdown.tools,
        "Memory": breakdown.memory,
        "Messages": breakdown.messages,
        "Tool results": breakdown.tool_results,
        "Summary": breakdown.summary,
        f"Overhead ({hidden})": breakdown.overhead,
    }
    yield from (f"- {name}: {tokens:,}" for name, tokens in figures.items() if tokens)
