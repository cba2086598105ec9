"""`ullage context`: shows the size and the parts of a context, or with `--edits` what made it smaller."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from rich.text import Text

from ullage.api.wire import usage_result
from ullage.cli.arguments import ReadingOptions, add_drawing, add_provider, add_target, read_options
from ullage.cli.draw.boxes import context_box, sizes_of
from ullage.cli.draw.parts import Column, table
from ullage.cli.draw.text import Glyphs, ago, fit_most, plain
from ullage.cli.figures import biggest, context_report, edit_rows
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import EditRow, Report
from ullage.cli.session_source import Source, open_source, unread_words
from ullage.cli.this_folder import Shortened, ShortIds
from ullage.model.words import short


class ContextOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage context`."""

    provider: str
    messages: bool
    edits: bool


class HistoryReport(Report, frozen=True, kw_only=True):
    """What `ullage context --edits --json` prints: the edits, oldest first."""

    name: str
    edits: tuple[EditRow, ...]


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument("--messages", action="store_true", help="with --json: the messages, too")
    parser.add_argument("--edits", action="store_true", help="what made it smaller, and how much each saved")


def run(args: Namespace) -> int:
    """Prints the context's size and what it consists of in a box, or with `--json` a `ContextReport`; with `--edits` a
    table of its edits, or a `HistoryReport`. Returns 0."""
    options = read_options(args, ContextOptions)
    asyncio.run((_list_edits if options.edits else _run)(options, Screen.of(args)))
    return 0


async def _run(options: ContextOptions, screen: Screen) -> None:
    with working(f"Counting {options.target or 'the newest conversation of this folder'}"):
        async with open_source(options) as source:
            if options.json:
                print_json(await context_report(source, options.provider if options.messages else None))
                return
            lines = [*chosen_words(source, screen), *await _box(source, screen), *unread_words(source.unread, screen)]
    screen.print(lines)


async def _box(source: Source, screen: Screen) -> list[Text]:
    now = source.workspace.ports.clock.now()
    conversation = source.conversation
    big = await biggest(conversation)
    return context_box(usage_result(conversation), now, screen.glyphs, screen.width, big)


def chosen_words(source: Source, screen: Screen) -> Iterator[Text]:
    """Yields one line with the id and title of the conversation that was chosen, or nothing if the user named one."""
    if source.chosen:
        name = ShortIds(source.workspace.ports.store, screen)(source.conversation.id)
        title = fit_most(source.conversation.transcript.title, max(1, screen.room - len(name) - 2), screen.glyphs)
        yield Text.assemble((name, "bold"), "  ", title)


_EDIT_COLUMNS = (
    Column(name="Edit", rank=2, style="dim"),
    Column(name="When", rank=3, style="dim"),
    Column(name="What", flexible=True),
    Column(name="Context"),
    Column(name="By", rank=4, style="dim"),
    Column(name="", rank=1),
)


async def _list_edits(options: ContextOptions, screen: Screen) -> None:
    async with open_source(options) as source:
        edits = edit_rows(source.conversation)
        now = source.workspace.ports.clock.now()
        if options.json:
            print_json(HistoryReport(name=source.name, edits=edits))
            return
        lines = [*chosen_words(source, screen)]
    if edits:
        lines += _edit_table(edits, now, screen)
    else:
        lines += map(Text, screen.prose("No edits: the context is the whole conversation."))
    screen.print(lines)


def _edit_table(edits: Sequence[EditRow], now: int, screen: Screen) -> list[Text]:
    """Returns the lines of a table: a heading and one line per edit. `now` is Unix milliseconds.

    Edits that belong to a larger action are indented, and are listed before the line of that action.
    """
    names = Shortened((edit.id for edit in edits), screen.room)
    cells = [
        (
            names(edit.id),
            ago(edit.at, now),
            (f"  {edit.words}" if edit.part_of else edit.words, "" if edit.in_force else "strike dim"),
            _sizes(edit, screen.glyphs),
            edit.trigger,
            _fate(edit, now),
        )
        for edit in edits
    ]
    return table(_EDIT_COLUMNS, cells, screen.room, screen.glyphs)


def _sizes(edit: EditRow, glyphs: Glyphs) -> str:
    if edit.before:
        return plain(sizes_of(edit.before, edit.after), glyphs)
    return f"-{short(edit.tokens_saved)}" if edit.tokens_saved else "?"


def _fate(edit: EditRow, now: int) -> str:
    if edit.in_force:
        return ""
    return f"undone {ago(edit.undone_at, now)}" if edit.undone_at else "undone"
