"""`ullage sessions`: lists the stored sessions, the last changed first, and under each those of its sub-agents."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import asdict
from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.tables import Column, table
from ullage.cli.draw.text import ago
from ullage.cli.output import Screen, print_json
from ullage.cli.reports import SessionRow, SessionsReport
from ullage.cli.short_ids import ShortIds
from ullage.cli.this_folder import live_rows
from ullage.cli.typed_arguments import ListOptions, read_options
from ullage.model.errors import InputError
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.live_rows import row_of
from ullage.service.follow.sub_agents import SubAgents
from ullage.service.ports.store import SessionInfo, SessionStore

_COLUMNS = (
    Column(name="Session", style="bold"),
    Column(name="Title", flexible=True),
    Column(name="Model", rank=3, style="dim"),
    Column(name="Messages", rank=2, right=True),
    Column(name="Changed", rank=1, style="dim"),
)


def run(args: Namespace) -> int:
    """Prints a table of stored sessions, with `--ids` the ids alone, or with `--json` a `SessionsReport`. Returns 0.
    Raises `InputError` if the folder of `--cwd` doesn't exist."""
    options, screen = read_options(args, ListOptions), Screen.of(args)
    with open_workspace(options.store, to_read=True) as workspace:
        sub_agents = SubAgents.of(workspace.ports.store)
        found = _with_children(workspace.ports.store, sub_agents, _folder(options.cwd), options.limit)
        rows = _rows(workspace, found, options.store) if options.json else ()
        now, names = workspace.ports.clock.now(), ShortIds(workspace.ports.store, screen)
    if options.json:
        print_json(SessionsReport(sessions=rows))
    elif options.ids:
        screen.print(info.session_id for info in found)
    elif found:
        screen.print(_table(found, sub_agents, names, now, screen))
    else:
        of = f" of {options.cwd}" if options.cwd else ""
        place = f" in {options.store}" if options.store else ""
        screen.print(screen.prose(f"No sessions{of}{place} yet. Store a transcript: ullage import FILE"))
    return 0


def _rows(workspace: Workspace, found: Sequence[SessionInfo], store: str | None) -> tuple[SessionRow, ...]:
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


def _table(
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
    return table(_COLUMNS, rows, screen.room, screen.glyphs)
