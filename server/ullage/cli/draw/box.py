"""A box of exactly as many columns as asked for, 50 by default, whatever is put into it."""

from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.fit import clean, fit
from ullage.cli.draw.glyphs import Glyphs

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
