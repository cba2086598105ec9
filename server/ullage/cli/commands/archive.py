"""`ullage archive`: shows what is kept of agents' own files, and removes some of it."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from ullage.app.compose import SystemClock
from ullage.app.opening_archive import open_originals
from ullage.cli.draw.tables import Column, table
from ullage.cli.draw.text import plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import ArchiveReport, ArchiveRow, PruneReport
from ullage.cli.typed_arguments import ArchiveOptions, read_options
from ullage.model.errors import InputError
from ullage.service.ports.originals import Originals, Pruning, Room
from ullage.store.originals.archive_tables import archive_path
from ullage.store.store_place import local_path
from ullage.system.kept_files import AgentOriginals

_DAY = 86_400_000
_COLUMNS = (
    Column(name="AGENT", flexible=True),
    Column(name="FILES", right=True),
    Column(name="VERSIONS", right=True, rank=2),
    Column(name="SIZE", right=True),
    Column(name="STORED", right=True),
    Column(name="SHARE", right=True, rank=1),
)


def run(args: Namespace) -> int:
    """Prints the room that each agent's files take in the archive. With `prune`, removes conversations from it, after
    asking the user on the terminal unless `--yes` is given. Returns 1 if the user declines, otherwise 0.

    Raises `InputError` if the arguments don't say what to remove, or if there is no terminal to ask on.
    """
    options, screen = read_options(args, ArchiveOptions), Screen.of(args)
    path = archive_path(local_path(options.store))
    is_named = options.older_than is not None or options.to is not None
    if is_named != (options.action == "prune"):
        raise InputError("`ullage archive prune` removes conversations by age or size: give --older-than, --to or both")
    with open_originals(options.store) as originals:
        if options.action == "prune":
            return _prune(originals, options, screen)
        rooms, size = (originals.rooms(), originals.size()) if originals else ((), 0)
    if options.json:
        print_json(ArchiveReport(path=str(path), size=size, agents=tuple(map(_row, rooms))))
    elif rooms:
        screen.print(_lines(rooms, size, path, screen))
    else:
        screen.print(["Nothing is kept yet. `ullage watch` keeps agents' own files while it runs."])
    return 0


def _row(room: Room) -> ArchiveRow:
    return ArchiveRow(agent=room.agent, files=room.files, versions=room.versions, size=room.size, stored=room.stored)


def _lines(rooms: tuple[Room, ...], size: int, path: Path, screen: Screen) -> Iterator[Text | str]:
    rows = [
        (
            room.agent or "?",
            f"{room.files:,}",
            f"{room.versions:,}",
            in_bytes(room.size),
            in_bytes(room.stored),
            f"{100 * room.stored / room.size:.0f} %" if room.size else "",
        )
        for room in rooms
    ]
    yield from table(_COLUMNS, rows, screen.room, screen.glyphs)
    raw = sum(room.size for room in rooms)
    yield ""
    yield from screen.prose(f"{in_bytes(raw)} of agents' files take {in_bytes(size)} in {path}")
    yield from screen.prose("Files are kept byte for byte, conversations in databases row by row, one a line")
    yield Text("One of them: ullage export --original SESSION --output FILE", "dim")


def _prune(originals: Originals | None, options: ArchiveOptions, screen: Screen) -> int:
    before = SystemClock().now() - options.older_than * _DAY if options.older_than is not None else None
    pruning = originals.plan_prune(before, options.to) if originals else None
    if originals is None or pruning is None or not pruning.paths:
        return _pruned((), 0, 0, options, screen)
    if not options.yes and not _agreed(pruning):
        return 1
    size = originals.size()
    with working("Removing"):
        originals.prune(pruning)
    return _pruned(pruning.paths, pruning.files, max(0, size - originals.size()), options, screen)


def _pruned(paths: tuple[str, ...], files: int, freed: int, options: ArchiveOptions, screen: Screen) -> int:
    if options.json:
        print_json(PruneReport(removed=paths, files=files, freed=freed))
    elif paths:
        what = f"{plural(len(paths), 'conversation')} ({plural(files, 'file')})"
        screen.print([f"Removed {what} from the archive, which is {in_bytes(freed)} smaller."])
    else:
        screen.print(["Nothing in the archive is that old, or the archive is not larger."])
    return 0


def _agreed(pruning: Pruning) -> bool:
    what = f"{plural(len(pruning.paths), 'conversation')} ({plural(pruning.files, 'file')}, {in_bytes(pruning.size)})"
    if not sys.stdin.isatty():
        raise InputError(f"remove {what} from the archive? There is no terminal to ask on; give --yes")
    newest = datetime.fromtimestamp(pruning.newest / 1000, UTC).astimezone().strftime("%Y-%m-%d")
    gone = sum(not AgentOriginals().stat(path) for path in pruning.paths)
    sys.stderr.write(f"  {what}, last changed by {newest}; frees about {in_bytes(pruning.freed)}\n")
    if gone:
        sys.stderr.write(f"  {plural(gone, 'conversation')} of these no longer exist anywhere else\n")
    sys.stderr.write("Remove them from the archive for good? Stored sessions stay. [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def in_bytes(size: int) -> str:
    """Returns a size in decimal units, for example `1.2 MB`."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
