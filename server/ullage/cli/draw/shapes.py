"""The shapes of drawings: a box of a fixed number of columns, and the bar that shows the used share of a window."""

from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import clean, fit
from ullage.model.updates import UsageMeta

WIDTH = 50
# Cells of the two borders and the space inside each.
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
        """Adds the head: `left` in bold, and `right` in at most half of the width."""
        self._lines.append(self._rule(self._glyphs.corners[:2]))
        beside = fit(right, min(cell_len(clean(right, self._glyphs)), self.inner // 2), self._glyphs)
        room = self.inner - cell_len(beside) - 2
        self.row((fit(left, room, self._glyphs), "bold"), ("  ", ""), (beside, "dim"))
        self.rule()

    def row(self, *parts: tuple[str, str]) -> None:
        """Adds a line of (text, style) parts, padded to the border. The parts must fit."""
        text = Text.assemble(*parts)
        text.pad_right(max(0, self.inner - text.cell_len))
        border = (self._glyphs.down, _BORDER)
        self._lines.append(Text.assemble(border, " ", text, " ", border))

    def line(self, text: str, style: str = "") -> None:
        """Adds a line of text, cut if it is too long."""
        self.row((fit(text, self.inner, self._glyphs), style))

    def fact(self, label: str, value: str, style: str = "") -> None:
        """Adds a line with a label in the first column and its value."""
        self.row(
            (fit(label, _LABEL, self._glyphs), ""),
            (" ", ""),
            (fit(value, self.inner - _LABEL - 1, self._glyphs), style),
        )

    def rule(self) -> None:
        """Adds a line across the box."""
        self._lines.append(self._rule(self._glyphs.tees))

    def blank(self) -> None:
        """Adds an empty line."""
        self.row()

    def lines(self) -> list[Text]:
        """Returns all lines of the box with the closing border."""
        return [*self._lines, self._rule(self._glyphs.corners[2:])]

    def _rule(self, ends: str) -> Text:
        return Text(ends[0] + self._glyphs.across * (self._width - 2) + ends[1], style=_BORDER)


def bar(used: int, size: int, compact_at: int | None, cells: int, glyphs: Glyphs) -> str:
    """Returns a bar of `cells` cells, and brackets if the glyphs have them.

    At least one cell is filled if anything is used, and all cells only if the window is full. The mark is in the cell
    where compaction begins. `used`, `size` and `compact_at` are tokens.
    """
    share = min(1.0, used / size) if size > 0 else 0.0
    full = min(int(share * cells + 0.5), cells if share >= 1 else cells - 1)
    full = max(full, 1 if used > 0 else 0)
    drawn = glyphs.full * full + glyphs.empty * (cells - full)
    if compact_at is not None and size > 0:
        at = min(cells - 1, int(compact_at / size * cells))
        drawn = drawn[:at] + glyphs.mark + drawn[at + 1 :]
    return f"{glyphs.brackets[:1]}{drawn}{glyphs.brackets[1:]}"


def level_style(used: int, meta: UsageMeta) -> str:
    """Returns the colour of a figure. The colour is never the only sign of a level."""
    if meta.compact_at is not None and used >= meta.compact_at:
        return "bold red"
    if meta.warn_at is not None and used >= meta.warn_at:
        return "bold yellow"
    return "green"
