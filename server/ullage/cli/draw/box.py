"""A box of exactly 50 columns, whatever is put into it."""

from rich.text import Text

from ullage.cli.draw.fit import fit
from ullage.cli.draw.glyphs import Glyphs

WIDTH = 50
# Inside the borders and the space beside each.
INNER = WIDTH - 4
_BORDER = "dim"


class Box:
    """Collects the lines of one box."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._lines: list[Text] = []

    def title(self, left: str, right: str = "") -> None:
        """The head: a name, and on the right what it is about, cut first when both have no room."""
        self._lines.append(self._rule(self._glyphs.corners[:2]))
        left = fit(left, min(len(left), INNER), self._glyphs)
        beside = fit(right, INNER - len(left) - 2, self._glyphs, right=True)
        self.row((left, "bold"), ("  ", ""), (beside, "dim"))
        self._lines.append(self._rule(self._glyphs.tees))

    def row(self, *parts: tuple[str, str]) -> None:
        """A line of (text, style) parts that already fit, padded to the border."""
        text = Text.assemble(*parts)
        text.pad_right(max(0, INNER - text.cell_len))
        border = (self._glyphs.down, _BORDER)
        self._lines.append(Text.assemble(border, " ", text, " ", border))

    def fact(self, label: str, value: str, style: str = "") -> None:
        """A label in the first column and its value."""
        self.row((fit(label, 9, self._glyphs), ""), (" ", ""), (fit(value, INNER - 10, self._glyphs), style))

    def blank(self) -> None:
        """An empty line."""
        self.row()

    def lines(self) -> list[Text]:
        """All of it, closed."""
        return [*self._lines, self._rule(self._glyphs.corners[2:])]

    def _rule(self, ends: str) -> Text:
        return Text(ends[0] + self._glyphs.across * (WIDTH - 2) + ends[1], style=_BORDER)
