"""`ullage archive`: shows what is kept of agents' own files."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from ullage.app.opening_archive import open_originals
from ullage.cli.draw.tables import Column, table
from ullage.cli.draw.text import in_bytes
from ullage.cli.output import Screen, print_json
from ullage.cli.reports import ArchiveReport, ArchiveRow
from ullage.cli.typed_arguments import StoreOptions, read_options
from ullage.service.ports.originals import Room
from ullage.store.originals.archive_tables import archive_path
from ullage.store.store_place import local_path

_COLUMNS = (
    Column(name="AGENT", flexible=True),
    Column(name="FILES", right=True),
    Column(name="VERSIONS", right=True, rank=2),
    Column(name="SIZE", right=True),
    Column(name="STORED", right=True),
    Column(name="SHARE", right=True, rank=1),
)


def run(args: Namespace) -> int:
    """Prints the room that each agent's files take in the archive. Returns 0."""
    options, screen = read_options(args, StoreOptions), Screen.of(args)
    path = archive_path(local_path(options.store))
    with open_originals(options.store) as originals:
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
    yield Text("Without one: ullage forget SESSION; without old ones: ullage forget --older-than 90d", "dim")
