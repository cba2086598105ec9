"""Tables: one line per row, never wider than the terminal."""

from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import clean, fit

_BETWEEN = "  "
# Cells that the flexible column keeps; other columns are left out first.
_LEAST = 30


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
    return min(natural, _LEAST) if column.flexible else natural


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
