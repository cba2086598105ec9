"""`ullage keep`: shows what is kept of agents' own files, and turns keeping on or off."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from rich.text import Text

from ullage.app.compose import open_originals
from ullage.cli.arguments import StoreOptions, add_json, read_options
from ullage.cli.drawing import Column, Screen, in_bytes, print_json, table
from ullage.cli.reports import Report
from ullage.host.side_files import ARCHIVE, beside
from ullage.service.ports.agent_files import Room
from ullage.store.sqlite.catalogue import Keeping
from ullage.store.store_place import local_path


class KeepOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage keep`."""

    action: Literal["on", "off"] | None


class ArchiveReport(Report, frozen=True, kw_only=True):
    """What `ullage keep --json` prints. `path` is the archive's file, `size` its size in bytes. Sizes are bytes
    here. `wanted` is what the user has answered when asked whether agents' files are kept, null if nothing yet."""

    wanted: bool | None
    path: str
    size: int
    agents: tuple[Room, ...]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["on", "off"],
        help="on, off: keep agents' files from now on, or no longer. Without it: show what is kept",
    )
    add_json(parser)


_NEXT: dict[bool | None, str] = {
    True: "`ullage watch` and editors keep agents' files while they run. To stop it: ullage keep off",
    False: "No more of agents' files is kept: you have turned it off. The words that `ullage watch` and editors read "
    "stay in the store. To keep files again: ullage keep on",
    None: "None of agents' files is kept until you say so; the words that Ullage reads are, in its store. To keep "
    "files while `ullage watch` or an editor runs: ullage keep on",
}
_COLUMNS = (
    Column(name="AGENT", flexible=True),
    Column(name="FILES", right=True),
    Column(name="VERSIONS", right=True, rank=2),
    Column(name="SIZE", right=True),
    Column(name="STORED", right=True),
    Column(name="SHARE", right=True, rank=1),
)


def run(args: Namespace) -> int:
    """Prints the room that each agent's files take in the archive, after turning it on or off if asked. Returns 0."""
    options, screen = read_options(args, KeepOptions), Screen.of(args)
    path = beside(local_path(options.store), ARCHIVE)
    keeping = Keeping(local_path(options.store))
    if options.action:
        keeping.answer(keep=options.action == "on")
    with open_originals(options.store) as originals:
        rooms, size = (originals.rooms(), originals.size()) if originals else ((), 0)
    if options.json:
        print_json(ArchiveReport(path=str(path), size=size, agents=tuple(rooms), wanted=keeping.wanted))
        return 0
    lines = _lines(rooms, size, path, screen) if rooms else ()
    screen.print([*lines, *screen.prose(_NEXT[keeping.wanted])])
    return 0


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
    yield Text("One of them: ullage export --original WHICH --output FILE", "dim")
    yield Text("Without one: ullage forget WHICH; without old ones: ullage forget --older-than 90d", "dim")
