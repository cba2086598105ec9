"""The bar: how full, and where it compacts."""

from ullage.cli.draw.glyphs import Glyphs
from ullage.model.updates import UsageMeta


def bar(used: int, size: int, compact_at: int | None, cells: int, glyphs: Glyphs) -> str:
    """A bar of `cells` cells (and brackets, where the glyphs have them). Anything used shows, and only a full window
    fills it; the mark stands in the cell where compaction begins."""
    share = min(1.0, used / size) if size > 0 else 0.0
    full = min(int(share * cells + 0.5), cells if share >= 1 else cells - 1)
    full = max(full, 1 if used > 0 else 0)
    drawn = glyphs.full * full + glyphs.empty * (cells - full)
    if compact_at is not None and size > 0:
        at = min(cells - 1, int(compact_at / size * cells))
        drawn = drawn[:at] + glyphs.mark + drawn[at + 1 :]
    return f"{glyphs.brackets[:1]}{drawn}{glyphs.brackets[1:]}"


def level_style(used: int, meta: UsageMeta) -> str:
    """The colour that goes with a figure; never the only sign of it."""
    if meta.compact_at is not None and used >= meta.compact_at:
        return "bold red"
    if meta.warn_at is not None and used >= meta.warn_at:
        return "bold yellow"
    return "green"
