"""The status line an editor would show, in the few states it has."""

from ullage.api.values import UsageResult
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.words import percent
from ullage.model.usage import UsageSource
from ullage.model.words import short


def status_line(usage: UsageResult, glyphs: Glyphs) -> str:
    """How full, in one glance: `◔ 45% · 58K/128K`, from the warning on `◕ 82% · compacts at 162K`."""
    meta = usage.meta.ullage
    if usage.size is None:
        return f"{short(usage.used)} {glyphs.dot} limit unknown"
    about = glyphs.about if meta.source is UsageSource.ESTIMATED else ""
    head = f"{level_glyph(usage.used, usage.size, glyphs)}{about}{percent(usage.used, usage.size)}%"
    if meta.warn_at is not None and meta.compact_at is not None and usage.used >= meta.warn_at:
        return f"{head} {glyphs.dot} compacts at {short(meta.compact_at)}"
    return f"{head} {glyphs.dot} {short(usage.used)}/{short(usage.size)}"


def compacting_line(messages: int, total: int, glyphs: Glyphs) -> str:
    """While a summary is being written."""
    return f"Compacting{glyphs.ellipsis * (3 if glyphs.ascii else 1)} {messages} of {total} messages"


def compacted_line(before: int, after: int, glyphs: Glyphs) -> str:
    """Just after a compaction."""
    return f"{glyphs.check} {short(before)} {glyphs.arrow} {short(after)}"


def level_glyph(used: int, size: int, glyphs: Glyphs) -> str:
    """A circle filled by quarters, with the space after it; nothing where the glyphs have none."""
    if not glyphs.levels:
        return ""
    last = len(glyphs.levels) - 1
    return glyphs.levels[min(last, round(used / size * last) if size > 0 else 0)] + " "
