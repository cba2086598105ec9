"""`ullage search`: everything ever said in stored sessions, archived or not."""

from argparse import Namespace

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.terminal import print_json, print_lines
from ullage.service.contexts import search
from ullage.service.ports import SearchHit


def run(args: Namespace) -> int:
    """Prints one hit a line; 1 if there is none."""
    with open_workspace(args.store) as workspace:
        hits = search(workspace, args.session, args.query, args.limit)
    if args.json:
        print_json({"hits": hits})
    elif hits:
        print_lines(map(_line, hits))
    else:
        print_lines([f"Nothing found for {args.query!r}."])
    return 0 if hits else 1


def _line(hit: SearchHit) -> Text:
    """The snippet with what matched in bold, behind where it stands; messages are counted from 1."""
    line = Text.assemble((f"{hit.session_id} #{hit.index + 1} {hit.role}", "dim"), "  ")
    for place, piece in enumerate(" ".join(hit.snippet.split()).split("**")):
        line.append(piece, "bold" if place % 2 else "")
    return line
