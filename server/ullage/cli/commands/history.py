"""`ullage history`: lists the edits of a context, how much each saved, and whether it is in force."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from rich.text import Text

from ullage.cli.commands.context import chosen_words
from ullage.cli.draw.boxes import sizes_of
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.tables import Column, table
from ullage.cli.draw.text import ago, plain
from ullage.cli.figures import edit_rows
from ullage.cli.output import Screen, print_json
from ullage.cli.reports import EditRow, HistoryReport
from ullage.cli.session_source import open_source
from ullage.cli.short_ids import shown_length
from ullage.cli.typed_arguments import ReadingOptions, read_options
from ullage.model.words import short

_COLUMNS = (
    Column(name="Edit", rank=2, style="dim"),
    Column(name="When", rank=3, style="dim"),
    Column(name="What", flexible=True),
    Column(name="Context"),
    Column(name="By", rank=4, style="dim"),
    Column(name="", rank=1),
)


def run(args: Namespace) -> int:
    """Prints a table of the edits, or with `--json` a `HistoryReport`. Returns 0."""
    asyncio.run(_run(read_options(args, ReadingOptions), Screen.of(args)))
    return 0


async def _run(options: ReadingOptions, screen: Screen) -> None:
    async with open_source(options) as source:
        edits = edit_rows(source.conversation)
        now = source.workspace.ports.clock.now()
        if options.json:
            print_json(HistoryReport(name=source.name, edits=edits))
            return
        lines = [*chosen_words(source, screen)]
    if edits:
        lines += _table(edits, now, screen)
    else:
        lines += map(Text, screen.prose("No edits: the context is the whole conversation."))
    screen.print(lines)


def _table(edits: Sequence[EditRow], now: int, screen: Screen) -> list[Text]:
    """Returns the lines of a table: a heading and one line per edit. `now` is Unix milliseconds.

    Edits that belong to a larger action are indented, and are listed before the line of that action.
    """
    length = shown_length(sorted(edit.id for edit in edits), screen)
    cells = [
        (
            edit.id[:length],
            ago(edit.at, now),
            (f"  {edit.words}" if edit.part_of else edit.words, "" if edit.in_force else "strike dim"),
            _sizes(edit, screen.glyphs),
            edit.trigger,
            _fate(edit, now),
        )
        for edit in edits
    ]
    return table(_COLUMNS, cells, screen.room, screen.glyphs)


def _sizes(edit: EditRow, glyphs: Glyphs) -> str:
    if edit.before:
        return plain(sizes_of(edit.before, edit.after), glyphs)
    return f"-{short(edit.tokens_saved)}" if edit.tokens_saved else "?"


def _fate(edit: EditRow, now: int) -> str:
    if edit.in_force:
        return ""
    return f"undone {ago(edit.undone_at, now)}" if edit.undone_at else "undone"
