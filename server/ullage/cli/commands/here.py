"""`ullage` without a command: shows the conversations of this folder, those that run now first, then the fullest first,
and what runs in other folders. If there is neither, shows the conversations of the machine. With `--stored`, lists what
Ullage stores."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import asdict
from rich.text import Text

from ullage.agents.discovery import UnreadFile
from ullage.app.compose import open_workspace
from ullage.cli.arguments import StoreOptions, add_drawing, number, read_options
from ullage.cli.draw.parts import Cell, Column, bar, table
from ullage.cli.draw.text import Glyphs, ago, clean, fit_most, plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import Report
from ullage.cli.this_folder import ConversationRow, Here, ShortIds, ThisFolder, live_rows
from ullage.model.errors import InputError
from ullage.model.figure import FollowedRow
from ullage.model.usage import UsageSource
from ullage.model.words import short
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.live_rows import row_of
from ullage.service.follow.sub_agents import SubAgents
from ullage.service.ports.store import SessionInfo, SessionStore


class HereOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage`."""

    limit: int
    all: bool
    stored: bool
    ids: bool
    cwd: str | None


class SessionRow(FollowedRow, frozen=True, kw_only=True):
    """A stored session. `agent` is empty if a client of Ullage has the conversation. `live` and `process_id` are known
    while a process follows an agent's conversation. `created_at` and `updated_at` are the times of the session."""

    created_at: int
    parent_id: str | None


class SessionsReport(Report, frozen=True, kw_only=True):
    """What `ullage --stored --json` prints: the sessions, the last changed first, each followed by those of its
    sub-agents."""

    sessions: tuple[SessionRow, ...]


class HereReport(Report, frozen=True, kw_only=True):
    """What `ullage --json` and `ullage here --json` print: the first of the `count` conversations of `folder`: those
    that run now, then the fullest. `elsewhere` are those that run in other folders; if there are none, and none of
    `folder`, those of the machine. `unread_files` are agents' files that could not be read."""

    count: int
    folder: str
    conversations: tuple[ConversationRow, ...]
    elsewhere: tuple[FollowedRow, ...]
    unread_files: tuple[UnreadFile, ...]


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many of each list")
    parser.add_argument("--all", action="store_true", help="all of each list")
    parser.add_argument("--cwd", metavar="FOLDER", help="the conversations of this folder, not of the working one")
    parser.add_argument(
        "--stored", action="store_true", help="only those that Ullage keeps, of all folders, newest first"
    )
    parser.add_argument("--ids", action="store_true", help="with --stored: the ids alone, one a line")
    add_drawing(parser)


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
    """Prints a table of this folder's conversations, or with `--json` a `HereReport`. Returns 0. Raises `InputError` if
    the folder of `--cwd` doesn't exist."""
    options, screen = read_options(args, HereOptions), Screen.of(args)
    if options.stored or options.ids:
        _list_stored(options, screen)
        return 0
    folder = _folder(options.cwd)
    with working("Counting"), open_workspace(options.store, to_read=True) as workspace:
        here = ThisFolder(workspace, options.store, Path(folder) if folder else None).look(
            None if options.all else options.limit
        )
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
        yield from _figure_table(here.rows, names, now, screen)
    elif here.elsewhere:
        yield f"No conversation of {folder}."
    else:
        yield "No conversation was found on this machine, stored or in an agent's own files."
    if here.elsewhere:
        heading = "Running elsewhere" if any(row.live for row in here.elsewhere) else "Elsewhere"
        yield ""
        yield Text(f"{heading}  {plural(len(here.elsewhere), 'conversation')}", "bold")
        yield from _figure_table(here.elsewhere, names, now, screen)
    for row in here.rows:
        if row.reason:
            yield f"No figure of {names(row.session_id)}: {clean(row.reason, screen.glyphs)}"
    for file in here.unread:
        yield f"Not read: {clean(file.path, screen.glyphs)} ({file.reason})"
    yield ""
    yield from _next(here, names, screen)


def _count(shown: int, count: int) -> str:
    return plural(count, "conversation") if shown == count else f"{shown} of {count:,} conversations (all: --all)"


def _figure_table(rows: Sequence[ConversationRow], names: ShortIds, now: int, screen: Screen) -> Iterator[Text]:
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


_STORED_COLUMNS = (
    Column(name="Session", style="bold"),
    Column(name="Title", flexible=True),
    Column(name="Model", rank=3, style="dim"),
    Column(name="Messages", rank=2, right=True),
    Column(name="Changed", rank=1, style="dim"),
)


def _list_stored(options: HereOptions, screen: Screen) -> None:
    """Prints a table of the conversations that Ullage stores, with `--ids` the ids alone, or with `--json` a
    `SessionsReport`."""
    with open_workspace(options.store, to_read=True) as workspace:
        sub_agents = SubAgents.of(workspace.ports.store)
        found = _with_children(workspace.ports.store, sub_agents, _folder(options.cwd), options.limit)
        rows = _stored_rows(workspace, found, options.store) if options.json else ()
        now, names = workspace.ports.clock.now(), ShortIds(workspace.ports.store, screen)
    if options.json:
        print_json(SessionsReport(sessions=rows))
    elif options.ids:
        screen.print(info.session_id for info in found)
    elif found:
        screen.print(_stored_table(found, sub_agents, names, now, screen))
    else:
        of = f" of {options.cwd}" if options.cwd else ""
        place = f" in {options.store}" if options.store else ""
        screen.print(screen.prose(f"No conversation{of} is kept{place} yet. To keep one: ullage import FILE"))


def _stored_rows(workspace: Workspace, found: Sequence[SessionInfo], store: str | None) -> tuple[SessionRow, ...]:
    live = {row.session_id: row for row in live_rows(store)}
    return tuple(
        SessionRow(
            **asdict(live.get(info.session_id) or row_of(workspace.open(info.session_id))) | asdict(info),
        )
        for info in found
    )


def _with_children(store: SessionStore, sub_agents: SubAgents, cwd: str | None, limit: int) -> tuple[SessionInfo, ...]:
    """Returns at most `limit` sessions, each followed by those of its sub-agents, the last changed first."""
    found: list[SessionInfo] = []
    for info in sub_agents.list_parents(store, cwd, limit):
        children = map(store.info, sub_agents.children(info.session_id))
        found += [info, *sorted(children, key=lambda child: -child.updated_at)]
    return tuple(found)


def _folder(name: str | None) -> str | None:
    """Returns the absolute path of the folder `name`, or None if `name` is None. Raises `InputError` if there is no
    such folder."""
    if name is None:
        return None
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise InputError(f"--cwd {name}: there is no such folder")
    return str(folder.resolve())


def _stored_table(
    found: Sequence[SessionInfo], sub_agents: SubAgents, names: ShortIds, now: int, screen: Screen
) -> list[Text]:
    rows = [
        (
            names(info.session_id),
            f"{screen.glyphs.corners[2]}{screen.glyphs.across} {info.title}"
            if sub_agents.shown_under(info.session_id)
            else info.title,
            info.model or "unknown model",
            f"{info.messages:,}",
            ago(info.updated_at, now),
        )
        for info in found
    ]
    return table(_STORED_COLUMNS, rows, screen.room, screen.glyphs)
