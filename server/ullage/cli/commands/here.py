"""`ullage` without a command: shows the conversations of this folder, those that run now first, then the fullest first,
and what runs in other folders. If there is neither, shows the conversations of the machine."""

from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.parts import bar
from ullage.cli.draw.tables import Cell, Column, table
from ullage.cli.draw.text import ago, clean, fit_most, plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import ConversationRow, HereReport
from ullage.cli.short_ids import ShortIds
from ullage.cli.this_folder import Here, ThisFolder
from ullage.cli.typed_arguments import HereOptions, read_options
from ullage.model.usage import UsageSource
from ullage.model.words import short

_BAR_CELLS = 12
# Columns of a terminal from which on an agent has its whole name.
_ROOMY = 110
COLUMNS = (
    Column(name="Full", right=True),
    Column(name="", rank=5, style="dim"),
    Column(name="Tokens", rank=3, right=True),
    Column(name="Compacts", rank=4, right=True, style="dim"),
    Column(name="Title", flexible=True),
    Column(name="Agent", style="dim"),
    Column(name="Model", rank=6, style="dim"),
    Column(name="When", rank=2, style="dim"),
    Column(name="Session", style="bold"),
)
# `ID` is the first conversation's.
_NEXT = (
    ("ullage context ID", "of what it is full, and until when"),
    ("ullage lost ID", "what its last compaction left out"),
    ("ullage continue ID", "goes on in a new session, compacted"),
)
_FIRST_STEPS = (
    ("ullage watch", "shows agents' conversations while they run"),
    ("ullage wire", "agents get back what their compactions leave out"),
    ("ullage demo", "shows Ullage at work, with a conversation of its own"),
    ("ullage context FILE", "how full the context of a transcript is"),
    ("ullage help", "all commands"),
)


def run(args: Namespace) -> int:
    """Prints a table of this folder's conversations, or with `--json` a `HereReport`. Returns 0."""
    options, screen = read_options(args, HereOptions), Screen.of(args)
    with working("Counting"), open_workspace(options.store, to_read=True) as workspace:
        here = ThisFolder(workspace, options.store).look(None if options.all else options.limit)
        now, shown = workspace.ports.clock.now(), [row.session_id for row in (*here.rows, *here.elsewhere)]
        names = ShortIds(workspace.ports.store, screen, shown)
    if options.json:
        report = HereReport(
            folder=str(here.folder),
            count=here.count,
            conversations=tuple(here.rows),
            elsewhere=tuple(here.elsewhere),
            unread_files=here.unread,
        )
        print_json(report)
        return 0
    screen.print(_lines(here, names, now, screen))
    return 0


def _lines(here: Here, names: ShortIds, now: int, screen: Screen) -> Iterator[Text | str]:
    folder = clean(str(here.folder), screen.glyphs)
    if here.rows:
        yield Text.assemble((folder, "bold"), f"  {_count(len(here.rows), here.count)}")
        yield from _table(here.rows, names, now, screen)
    elif here.elsewhere:
        yield f"No conversation of {folder}."
    else:
        yield "No conversation was found on this machine, stored or in an agent's own files."
    if here.elsewhere:
        heading = "Running elsewhere" if any(row.live for row in here.elsewhere) else "Elsewhere"
        yield ""
        yield Text(f"{heading}  {plural(len(here.elsewhere), 'conversation')}", "bold")
        yield from _table(here.elsewhere, names, now, screen)
    for row in here.rows:
        if row.reason:
            yield f"No figure of {names(row.session_id)}: {clean(row.reason, screen.glyphs)}"
    for file in here.unread:
        yield f"Not read: {clean(file.path, screen.glyphs)} ({file.reason})"
    yield ""
    yield from _next(here, names, screen)


def _count(shown: int, count: int) -> str:
    return plural(count, "conversation") if shown == count else f"{shown} of {count:,} conversations (all: --all)"


def _table(rows: Sequence[ConversationRow], names: ShortIds, now: int, screen: Screen) -> Iterator[Text]:
    is_short = screen.room < _ROOMY
    yield from table(
        COLUMNS, [_cells(row, names, now, screen.glyphs, is_short=is_short) for row in rows], screen.room, screen.glyphs
    )


def _next(here: Here, names: ShortIds, screen: Screen) -> Iterator[Text | str]:
    first = next(iter((*here.rows, *here.elsewhere)), None)
    name = names(first.session_id) if first else ""
    words = [(command.replace("ID", name), what) for command, what in (_NEXT if first else _FIRST_STEPS)]
    widest = max(len(command) for command, _ in words)
    for command, what in words:
        line = f"  {command:<{widest}}  {what}"
        yield Text(fit_most(line, screen.room, screen.glyphs), "dim" if first else "")


def _cells(row: ConversationRow, names: ShortIds, now: int, glyphs: Glyphs, *, is_short: bool) -> Sequence[Cell]:
    """Returns a conversation's cells, one for each of `COLUMNS`. With `is_short` the agent has its short name."""
    about = glyphs.about if row.used_source is UsageSource.ESTIMATED else ""
    full = "?" if row.percent is None else f"{about}{row.percent}%"
    used = row.used or 0
    style = "bold red" if row.compacts_at is not None and used >= row.compacts_at else ""
    compacts = short(row.compacts_at) if row.compacts_at else ""
    drawn = bar(used, row.window, row.compacts_at, _BAR_CELLS, glyphs) if row.window else ""
    tokens = "?" if row.used is None else f"{short(used)}/{short(row.window) if row.window else '?'}"
    agent = row.agent_short if is_short else row.agent
    when = ("now", "bold green") if row.live else ago(row.updated_at, now)
    return (full, style), drawn, tokens, compacts, row.title, agent, row.model, when, names(row.session_id)
