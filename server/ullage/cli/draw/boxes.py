"""The boxes of `ullage context` and `ullage compact`.

They show the size and the parts of a context, and the result of a compaction.
"""

from rich.text import Text

from ullage.api.values import UsageResult
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.shapes import Box, bar, level_style
from ullage.cli.draw.text import ago, fit, percent, plural, source_words
from ullage.model.blocks import CompactionBlock
from ullage.model.updates import UsageMeta
from ullage.model.words import short

_BAR_CELLS = 32
# Cells of the two columns of a breakdown, each with label and figure, and the space between the columns.
_LEFT, _RIGHT, _BETWEEN = 23, 20, "   "


def context_box(usage: UsageResult, now: int, glyphs: Glyphs) -> list[Text]:
    """Returns the box of `ullage context`. `now` is Unix milliseconds."""
    meta = usage.meta.ullage
    box = Box(glyphs)
    box.title("Context Usage", meta.model)
    _facts(box, usage, now)
    box.blank()
    _fullness(box, usage, glyphs)
    box.blank()
    parts = _parts(usage)
    for left, right in zip(parts[::2], parts[1::2], strict=True):
        box.row((_figure(*left, _LEFT, glyphs), ""), (_BETWEEN, ""), (_figure(*right, _RIGHT, glyphs), ""))
    return box.lines()


def _facts(box: Box, usage: UsageResult, now: int) -> None:
    meta = usage.meta.ullage
    share = f" ({percent(usage.used, usage.size)}%)" if usage.size else ""
    box.fact("Current", f"{usage.used:>11,} tokens{share}", level_style(usage.used, meta))
    box.fact("Maximum", f"{usage.size:>11,} tokens" if usage.size else "     unknown: set it with --window")
    total = meta.messages_active + meta.messages_archived
    box.fact("Messages", f"{meta.messages_active:>7,} active / {total:,} total")
    oldest = ago(meta.oldest_timestamp, now) if meta.oldest_timestamp else "unknown"
    box.fact("Summaries", f"{meta.compactions:>7,}        Oldest  {oldest}")
    box.fact("Source", f"     {source_words(meta, now)}")


def _fullness(box: Box, usage: UsageResult, glyphs: Glyphs) -> None:
    meta = usage.meta.ullage
    style = level_style(usage.used, meta)
    if usage.size is None:
        box.line(f"Context: {short(usage.used)} tokens, limit unknown", style)
        return
    share = percent(usage.used, usage.size)
    box.line(f"Context: {share}% ({short(usage.used)}/{short(usage.size)} tokens)", style)
    box.line(f"{bar(usage.used, usage.size, meta.compact_at, _BAR_CELLS, glyphs)}  {share}%", style)
    if meta.compact_at is not None:
        box.line(f"Warns at {short(meta.warn_at or 0)}, compacts at {short(meta.compact_at)} ({glyphs.mark})", "dim")


def _parts(usage: UsageResult) -> list[tuple[str, int]]:
    meta = usage.meta.ullage
    parts = meta.breakdown
    shown = [
        ("System prompt", parts.system_prompt),
        ("Tools", parts.tools),
        ("Messages", parts.messages),
        ("Tool results", parts.tool_results),
        ("Summary", parts.summary),
        ("Memory", parts.memory),
    ]
    shown += [("Overhead", parts.overhead)] if parts.overhead else []
    shown += _left_over(usage, meta)
    return shown if len(shown) % 2 == 0 else [*shown, ("", 0)]


def _left_over(usage: UsageResult, meta: UsageMeta) -> list[tuple[str, int]]:
    if usage.size is None or meta.usable is None:
        return []
    return [("Reserve", usage.size - meta.usable), ("Free", max(0, meta.usable - usage.used))]


def _figure(label: str, tokens: int, width: int, glyphs: Glyphs) -> str:
    if not label:
        return " " * width
    figure = f"{tokens:,}"
    if len(figure) > width - 5:
        figure = short(tokens)
    return fit(label, max(0, width - len(figure) - 1), glyphs) + " " + fit(figure, min(len(figure), width), glyphs)


def compaction_box(block: CompactionBlock, glyphs: Glyphs) -> list[Text]:
    """Returns the box of `ullage compact`, without the summary itself."""
    before, after = block.context_size_before, block.context_size_after
    box = Box(glyphs)
    box.title(f"Compacted #{block.compaction_number}", block.summarizer)
    box.fact("Removed", f"{block.messages_archived:>9,} {_noun(block.messages_archived)}, kept in the archive")
    box.fact("Saved", f"{before - after:>9,} tokens ({percent(before - after, before)}%)", "green")
    box.fact("Context", f"{before:>9,} {glyphs.arrow} {after:,} tokens")
    ledger = block.ledger
    box.fact("Ledger", f"{len(ledger.files):>9,} files, {plural(len(ledger.commands), 'command')}")
    return box.lines()


def _noun(count: int) -> str:
    return "message" if count == 1 else "messages"
