"""What drawings consist of: a box of a fixed number of columns, and the bar that shows how full a window is."""

from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import clean, fit
from ullage.model.updates import UsageMeta

WIDTH = 50
# The borders and the space beside each.
_FRAME = 4
_LABEL = 9
_BORDER = "dim"


class Box:
    """Collects the lines of one box."""

    def __init__(self, glyphs: Glyphs, width: int = WIDTH) -> None:
        self.inner = width - _FRAME
        self._width = width
        self._glyphs = glyphs
        self._lines: list[Text] = []

    def title(self, left: str, right: str = "") -> None:
        """The head: a name, and on the right what it is about, of at most half the width."""
        self._lines.append(self._rule(self._glyphs.corners[:2]))
        beside = fit(right, min(cell_len(clean(right, self._glyphs)), self.inner // 2), self._glyphs)
        room = self.inner - cell_len(beside) - 2
        self.row((fit(left, room, self._glyphs), "bold"), ("  ", ""), (beside, "dim"))
        self.rule()

    def row(self, *parts: tuple[str, str]) -> None:
        """A line of (text, style) parts that already fit, padded to the border."""
        text = Text.assemble(*parts)
        text.pad_right(max(0, self.inner - text.cell_len))
        border = (self._glyphs.down, _BORDER)
        self._lines.append(Text.assemble(border, " ", text, " ", border))

    def line(self, text: str, style: str = "") -> None:
        """A text, cut where it has no room."""
        self.row((fit(text, self.inner, self._glyphs), style))

    def fact(self, label: str, value: str, style: str = "") -> None:
        """A label in the first column and its value."""
        self.row(
            (fit(label, _LABEL, self._glyphs), ""),
            (" ", ""),
            (fit(value, self.inner - _LABEL - 1, self._glyphs), style),
        )

    def rule(self) -> None:
        """A line across."""
        self._lines.append(self._rule(self._glyphs.tees))

    def blank(self) -> None:
        """An empty line."""
        self.row()

    def lines(self) -> list[Text]:
        """All of it, closed."""
        return [*self._lines, self._rule(self._glyphs.corners[2:])]

    def _rule(self, ends: str) -> Text:
        return Text(ends[0] + self._glyphs.across * (self._width - 2) + ends[1], style=_BORDER)


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
