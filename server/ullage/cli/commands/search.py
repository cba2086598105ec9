"""`ullage search`: searches all messages of stored sessions, archived ones included."""

import asyncio
from argparse import Namespace

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.output import print_json, print_lines, working
from ullage.model.errors import InvalidRequest
from ullage.service.archive.recall import message_lines
from ullage.service.archive.search import find_entry, search
from ullage.service.conversation.pages import Entry
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SearchHit


def run(args: Namespace) -> int:
    """Prints one hit per line, or with `--show` one whole message. Returns 1 if nothing is found, otherwise 0."""
    with open_workspace(args.store) as workspace:
        return _show(workspace, args) if args.show else _search(workspace, args)


def _search(workspace: Workspace, args: Namespace) -> int:
    with working("Searching"):
        hits = asyncio.run(search(workspace, args.session, args.query or "", args.limit))
    if args.json:
        print_json({"hits": hits})
    elif hits:
        print_lines(map(_line, hits))
        print_lines([Text(f"Whole messages: ullage search --session {hits[0].session_id} --show ID", "dim")])
    else:
        print_lines([f"Nothing found for {args.query!r}."])
    return 0 if hits else 1


def _show(workspace: Workspace, args: Namespace) -> int:
    if args.session is None:
        raise InvalidRequest("--show needs --session SESSION: message ids are unique only within one")
    entry = find_entry(workspace.open(args.session), args.show)
    if args.json:
        print_json(entry)
    else:
        print_lines([_head(entry), *message_lines(entry.message)])
    return 0


def _head(entry: Entry) -> Text:
    state = ", archived" if entry.archived else ""
    return Text(f"#{entry.index + 1} {entry.message.role} {entry.message.id}{state}", "dim")


def _line(hit: SearchHit) -> Text:
    """Returns the message's place (counted from 1) and then the snippet, with the matches in bold."""
    line = Text.assemble((f"{hit.session_id} #{hit.index + 1} {hit.role} {hit.message_id}", "dim"), "  ")
    for place, piece in enumerate(" ".join(hit.snippet.split()).split("**")):
        line.append(piece, "bold" if place % 2 else "")
    return line
