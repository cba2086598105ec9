"""`ullage history`: lists the edits of a context, what each saved, and whether it is in force."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from rich.text import Text

from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import ago, fit, plain
from ullage.cli.options import HistoryOptions, read_options
from ullage.cli.output import print_json, print_lines, terminal_glyphs
from ullage.cli.source import open_source
from ullage.model.words import short, shrinking
from ullage.service.archive.undo import HistoryEntry, history

# Cells of each column but the last, whose length isn't limited.
_ID, _WHEN, _WORDS, _SIZES = 14, 14, 32, 13


def run(args: Namespace) -> int:
    """Prints a table, or with `--json` the edits as `context/history` returns them."""
    asyncio.run(_run(read_options(args, HistoryOptions)))
    return 0


async def _run(options: HistoryOptions) -> None:
    async with open_source(options) as source:
        entries = history(source.conversation)
        now = source.workspace.ports.clock.now()
    if options.json:
        print_json({"edits": entries})
    elif entries:
        print_lines(_table(entries, now, terminal_glyphs(ascii_only=options.ascii)))
    else:
        print_lines(["No edits: the context is the whole conversation."])


def _table(entries: Sequence[HistoryEntry], now: int, glyphs: Glyphs) -> list[Text]:
    """Returns a heading and one line per edit. `now` is Unix milliseconds.

    Edits that are parts of one action are indented, before the line of the action.
    """
    width = max([_ID, *(len(entry.id) for entry in entries)])
    heading = [("Edit", width), ("When", _WHEN), ("What", _WORDS), ("Context", _SIZES), ("By", 0)]
    lines = [Text("  ".join(fit(word, max(cells, len(word)), glyphs) for word, cells in heading), style="bold")]
    return lines + [_line(entry, width, now, glyphs) for entry in entries]


def _line(entry: HistoryEntry, width: int, now: int, glyphs: Glyphs) -> Text:
    what = f"  {entry.words}" if entry.part_of else entry.words
    return Text.assemble(
        (fit(entry.id, width, glyphs), "dim"),
        "  ",
        (fit(ago(entry.timestamp, now), _WHEN, glyphs), "dim"),
        "  ",
        (fit(what, _WORDS, glyphs), "strike dim" if entry.reverted else ""),
        "  ",
        fit(_sizes(entry, glyphs), _SIZES, glyphs),
        "  ",
        (entry.trigger.value, "dim"),
        _fate(entry, now),
    )


def _sizes(entry: HistoryEntry, glyphs: Glyphs) -> str:
    if entry.context_size_before:
        return plain(shrinking(entry.context_size_before, entry.context_size_after), glyphs)
    return f"-{short(entry.tokens_saved)}"


def _fate(entry: HistoryEntry, now: int) -> str:
    if not entry.reverted:
        return ""
    return f", undone {ago(entry.reverted_at, now)}" if entry.reverted_at else ", undone"
