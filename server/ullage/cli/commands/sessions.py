"""`ullage sessions`: lists the stored sessions, the last changed first."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import ago, fit
from ullage.cli.output import print_json, print_lines, terminal_glyphs
from ullage.service.ports.store import SessionInfo

_TITLE, _MODEL, _WHEN = 40, 20, 14


def run(args: Namespace) -> int:
    """Prints one line per session."""
    cwd = None if args.cwd is None else str(Path(args.cwd).resolve())
    with open_workspace(args.store) as workspace:
        found = workspace.ports.store.list(cwd, args.limit)
        now = workspace.ports.clock.now()
    if args.json:
        print_json({"sessions": found})
    elif found:
        print_lines(_table(found, now, terminal_glyphs(ascii_only=args.ascii)))
    else:
        print_lines(["No sessions yet. Read one in: ullage import FILE"])
    return 0


def _table(found: Sequence[SessionInfo], now: int, glyphs: Glyphs) -> list[Text]:
    width = max(len(info.session_id) for info in found)
    return [
        Text.assemble(
            (fit(info.session_id, width, glyphs), "bold"),
            "  ",
            fit(info.title, _TITLE, glyphs),
            "  ",
            (fit(info.model or "unknown model", _MODEL, glyphs), "dim"),
            f"  {info.messages:>6,}  ",
            (fit(ago(info.updated_at, now), _WHEN, glyphs), "dim"),
        )
        for info in found
    ]
