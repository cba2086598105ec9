"""The elements of drawings: a box, the bar that shows the used share of a window, and tables."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.text import Glyphs, clean, fit, fit_most, wrap
from ullage.model.updates import UsageMeta

# Cells of the two borders and the space inside each.
_FRAME = 4
_LABEL = 9
_BORDER = "dim"


class Box:
    """Builds a box of `width` columns line by line. `inner` is the number of columns inside its borders."""

    def __init__(self, glyphs: Glyphs, width: int) -> None:
        self.inner = width - _FRAME
        self._width = width
        self._glyphs = glyphs
        self._lines: list[Text] = []

    def title(self, left: str, right: str = "") -> None:
        """Adds the top border, a line with two texts, and a horizontal line below it.

        `left` is bold. `right` gets at least half of the width if it needs that much. A text that is too long is cut.
        """
        self._lines.append(self._rule(self._glyphs.corners[:2]))
        most = max(self.inner // 2, self.inner - cell_len(clean(left, self._glyphs)) - 2)
        beside = fit_most(right, most, self._glyphs)
        room = self.inner - cell_len(beside) - 2
        self.row((fit(left, room, self._glyphs), "bold"), ("  ", ""), (beside, "dim"))
        self.rule()

    def row(self, *parts: tuple[str, str]) -> None:
        """Adds a line of (text, style) pairs, filled with spaces up to the border. The pairs must fit."""
        text = Text.assemble(*parts)
        text.pad_right(max(0, self.inner - text.cell_len))
        border = (self._glyphs.down, _BORDER)
        self._lines.append(Text.assemble(border, " ", text, " ", border))

    def line(self, text: str, style: str = "") -> None:
        """Adds a line of text, cut if it is too long."""
        self.row((fit(text, self.inner, self._glyphs), style))

    def fact(self, label: str, value: str, style: str = "") -> None:
        """Adds a line with a label in the first column and its value after it. A long value continues in the next
        lines."""
        for line in wrap(value, self.inner - _LABEL - 1, self._glyphs):
            self.row(
                (fit(label, _LABEL, self._glyphs), ""),
                (" ", ""),
                (fit(line, self.inner - _LABEL - 1, self._glyphs), style),
            )
            label = ""

    def head(self, text: str) -> None:
        """Adds a horizontal line across the box that contains a heading."""
        line = f"{self._glyphs.across} {fit_most(text, self.inner - 4, self._glyphs)} "
        ends = self._glyphs.tees
        rest = self._glyphs.across * max(0, self._width - 2 - cell_len(line))
        self._lines.append(Text(ends[0] + line + rest + ends[1], style=_BORDER))

    def rule(self) -> None:
        """Adds a horizontal line across the box."""
        self._lines.append(self._rule(self._glyphs.tees))

    def blank(self) -> None:
        """Adds an empty line."""
        self.row()

    def lines(self) -> list[Text]:
        """Returns all lines of the box, with the bottom border."""
        return [*self._lines, self._rule(self._glyphs.corners[2:])]

    def _rule(self, ends: str) -> Text:
        return Text(ends[0] + self._glyphs.across * (self._width - 2) + ends[1], style=_BORDER)


def bar(used: int, size: int, compact_at: int | None, cells: int, glyphs: Glyphs) -> str:
    """Returns a bar of `cells` cells that shows the share `used / size`, between brackets if the glyphs have them.

    At least one cell is filled if anything is used, and all cells only if the window is full. A mark shows the cell at
    which compaction begins. `used`, `size` and `compact_at` are tokens; `compact_at` may be None.
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
    """Returns the style of a figure of `used` tokens: red from the compaction threshold on, yellow from the warning
    threshold on, otherwise green. The colour is never the only sign of a level."""
    if meta.compact_at is not None and used >= meta.compact_at:
        return "bold red"
    if meta.warn_at is not None and used >= meta.warn_at:
        return "bold yellow"
    return "green"


def step_lines(steps: Sequence[tuple[str, str]], width: int, glyphs: Glyphs) -> Iterator[str]:
    """Yields a line for each command that a user may run next, with a remark; in columns if all of both fit."""
    first, second = (max((cell_len(step[place]) for step in steps), default=0) for place in (0, 1))
    column = first if 4 + first + second <= width else 0
    yield from (fit_most(f"  {command:<{column}}  {remark}", width, glyphs) for command, remark in steps)


_BETWEEN = "  "
# Cells that the flexible column keeps; other columns are left out first.
_LEAST_FLEXIBLE = 30


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table.

    If the table is too wide, columns are left out, those with the highest `rank` first; columns of rank 0 are always
    shown. `right` aligns the text to the right. The `flexible` column is as wide as the other columns allow.
    """

    name: str
    rank: int = 0
    right: bool = False
    flexible: bool = False
    style: str = ""


Cell = str | tuple[str, str]


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, glyphs: Glyphs) -> list[Text]:
    """Returns a heading and one line per row, each at most `width` cells wide if the columns of rank 0 fit.

    A cell is a text, or a text with a style that replaces the column's. Columns without any text are left out.
    """
    texts = [[clean(cell if isinstance(cell, str) else cell[0], glyphs) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.name), *(cell_len(row[place]) for row in texts)]) for place, column in enumerate(columns)
    ]
    filled = [place for place in range(len(columns)) if any(row[place] for row in texts)]
    shown = _chosen(columns, natural, filled, width)
    widths = _widths(columns, natural, shown, width)
    heading = [(columns[place].name, "bold") for place in shown]
    lines = [
        [(text[place], _style(columns[place], row[place])) for place in shown]
        for text, row in zip(texts, rows, strict=True)
    ]
    return [_line(line, [columns[place] for place in shown], widths, glyphs) for line in (heading, *lines)]


def _chosen(columns: Sequence[Column], natural: Sequence[int], filled: Sequence[int], width: int) -> list[int]:
    shown = list(filled)
    while True:
        optional = [place for place in shown if columns[place].rank]
        needed = sum(_least(columns[place], natural[place]) for place in shown) + len(_BETWEEN) * (len(shown) - 1)
        if needed <= width or not optional:
            return shown
        shown.remove(max(optional, key=lambda place: columns[place].rank))


def _widths(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int], width: int) -> list[int]:
    fixed = sum(natural[place] for place in shown if not columns[place].flexible)
    left = max(1, width - fixed - len(_BETWEEN) * (len(shown) - 1))
    return [min(natural[place], left) if columns[place].flexible else natural[place] for place in shown]


def _least(column: Column, natural: int) -> int:
    return min(natural, _LEAST_FLEXIBLE) if column.flexible else natural


def _style(column: Column, cell: Cell) -> str:
    return column.style if isinstance(cell, str) else cell[1]


def _line(cells: Sequence[tuple[str, str]], columns: Sequence[Column], widths: Sequence[int], glyphs: Glyphs) -> Text:
    line = Text()
    for place, ((text, style), column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        last = place == len(cells) - 1
        fitted = fit(text, width, glyphs, right=column.right)
        line.append(_BETWEEN if place else "")
        line.append(fitted.rstrip() if last else fitted, style)
    return line
