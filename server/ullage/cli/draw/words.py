"""Figures and times in words, the same in every drawing."""

from ullage.cli.draw.glyphs import Glyphs
from ullage.model.updates import UsageMeta
from ullage.model.usage import UsageSource

_STEPS = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(then: int, now: int) -> str:
    """How long before `now`, both Unix milliseconds: `12 s ago`, `2 hours ago`."""
    seconds = max(0, now - then) // 1000
    for length, unit in _STEPS:
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return f"{seconds} s ago"


def percent(part: int, whole: int) -> int:
    """A whole percentage; 0 of nothing is 0."""
    return round(100 * part / whole) if whole > 0 else 0


def source_words(meta: UsageMeta, now: int) -> str:
    """How the figure is known: `reported, 12 s ago`, `estimated, about 4% off`, `stale: 3 messages since`."""
    if meta.source is UsageSource.STALE:
        return f"stale: {plural(meta.pending_messages, 'message')} since"
    if meta.source is UsageSource.REPORTED:
        return f"reported, {ago(meta.reported_at, now)}" if meta.reported_at else "reported"
    if meta.error_share is None:
        return "estimated"
    return f"estimated, about {max(1, round(100 * meta.error_share))}% off"


def plural(count: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(text: str, glyphs: Glyphs) -> str:
    """Ullage's own words with their few special characters in the glyphs' set."""
    if not glyphs.ascii:
        return text
    return text.replace("→", glyphs.arrow).replace("…", "...").replace("·", glyphs.dot)
