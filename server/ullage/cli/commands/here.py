"""`ullage` without a command: shows the conversations of this folder, the fullest first, and what is live elsewhere. If
there is neither, shows the newest conversations of the machine."""

from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.parts import bar
from ullage.cli.draw.tables import Cell, Column, table
from ullage.cli.draw.text import ago, clean, plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import ConversationRow, HereReport
from ullage.cli.short_ids import ShortIds
from ullage.cli.this_folder import Here, list_conversations, live_rows, look_elsewhere, look_here
from ullage.cli.typed_arguments import ListOptions, read_options
from ullage.model.followed import FollowedRow
from ullage.model.usage import UsageSource
from ullage.model.words import short

_BAR_CELLS = 12
COLUMNS = (
    Column(name="Full", right=True),
    Column(name="", rank=4, style="dim"),
    Column(name="Tokens", rank=3, right=True),
    Column(name="Title", flexible=True),
    Column(name="Agent", rank=5, style="dim"),
    Column(name="Model", rank=7, style="dim"),
    Column(name="Messages", rank=6, right=True, style="dim"),
    Column(name="When", rank=2, style="dim"),
    Column(name="Session", style="bold"),
)
_FIRST_STEPS = """\
  ullage context FILE    how full the context of a transcript is, and of what
  ullage import FILE     store a transcript, to search it, compact it and undo
  ullage demo            see Ullage at work, with a conversation of its own
  ullage help            all commands"""


def run(args: Namespace) -> int:
    """Prints a table of this folder's conversations, or with `--json` a `HereReport`. Returns 0."""
    options, screen = read_options(args, ListOptions), Screen.of(args)
    with working("Counting"), open_workspace(options.store, to_read=True) as workspace:
        store = workspace.ports.store
        here = look_here(workspace, options.limit)
        rows = list_conversations(workspace, here)[: options.limit]
        shown = {row.session_id for row in rows} | {row.agent_session_id for row in rows}
        live = [row for row in live_rows(options.store) if row.live]
        elsewhere: list[FollowedRow] = [row for row in live if not shown & {row.session_id, row.agent_session_id}]
        heading = "Live elsewhere"
        if not rows and not elsewhere:
            elsewhere += list_conversations(workspace, look_elsewhere(workspace, here))
            heading = "Newest elsewhere"
        now, names = (
            workspace.ports.clock.now(),
            ShortIds(store, screen, [row.session_id for row in (*rows, *elsewhere)]),
        )
    if options.json:
        report = HereReport(
            folder=str(here.folder), conversations=tuple(rows), elsewhere=tuple(elsewhere), unread_files=here.unread
        )
        print_json(report)
        return 0
    lines: list[Text | str] = []
    if rows:
        lines += _lines(rows, here, [cells(row, names, now, screen.glyphs) for row in rows], screen)
    elif elsewhere:
        lines += [f"No conversation of {clean(str(here.folder), screen.glyphs)}.", *_unread(here, screen.glyphs)]
    else:
        lines += _nothing(here, screen.glyphs)
    if elsewhere:
        lines += ["", Text(f"{heading}  {plural(len(elsewhere), 'conversation')}", "bold")]
        lines += table(
            COLUMNS, [cells(row, names, now, screen.glyphs) for row in elsewhere], screen.room, screen.glyphs
        )
    screen.print(lines)
    return 0


def _lines(
    rows: Sequence[ConversationRow], here: Here, cells: Sequence[Sequence[Cell]], screen: Screen
) -> Iterator[Text | str]:
    yield Text.assemble((clean(str(here.folder), screen.glyphs), "bold"), f"  {plural(len(rows), 'conversation')}")
    yield from table(COLUMNS, cells, screen.room, screen.glyphs)
    yield Text(f"One of them: ullage context {cells[0][-1]}", "dim")
    yield from _unread(here, screen.glyphs)


def _nothing(here: Here, glyphs: Glyphs) -> Iterator[str]:
    yield "No conversation was found on this machine, stored or in an agent's own files."
    yield from _unread(here, glyphs)
    yield ""
    yield _FIRST_STEPS


def _unread(here: Here, glyphs: Glyphs) -> Iterator[str]:
    for file in here.unread:
        yield f"Not read: {clean(file.path, glyphs)} ({file.reason})"


def cells(row: FollowedRow, names: ShortIds, now: int, glyphs: Glyphs) -> Sequence[Cell]:
    """Returns a conversation's cells, one for each of `COLUMNS`."""
    about = glyphs.about if row.used_source is UsageSource.ESTIMATED else ""
    full = "?" if row.percent is None else f"{about}{row.percent}%"
    used = row.used or 0
    style = "bold red" if row.compacts_at is not None and used >= row.compacts_at else ""
    drawn = bar(used, row.window, row.compacts_at, _BAR_CELLS, glyphs) if row.window else ""
    tokens = "?" if row.used is None else f"{short(used)}/{short(row.window) if row.window else '?'}"
    messages = "?" if row.messages is None else f"{row.messages:,}"
    when = ago(row.updated_at, now)
    return (full, style), drawn, tokens, row.title, row.agent, row.model, messages, when, names(row.session_id)
