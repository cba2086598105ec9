"""`ullage delete`: deletes stored sessions."""

import asyncio
import sys
from argparse import Namespace

from ullage.app.compose import open_workspace
from ullage.cli.draw.text import clean, plural
from ullage.cli.output import Screen, print_json
from ullage.cli.reports import DeleteReport
from ullage.cli.typed_arguments import DeleteOptions, read_options
from ullage.model.errors import InputError
from ullage.service.archive.naming import find_session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionInfo
from ullage.service.sessions import delete_session


def run(args: Namespace) -> int:
    """Deletes the named sessions, after asking the user on the terminal unless `--yes` is given. Returns 1 if the user
    declines, otherwise 0.

    Raises `InputError` if there is no terminal to ask on, and `SessionNotFound` if a session doesn't exist. Then
    nothing is deleted.
    """
    options, screen = read_options(args, DeleteOptions), Screen.of(args)
    with open_workspace(options.store) as workspace:
        store = workspace.ports.store
        found = [
            store.info(session_id)
            for session_id in dict.fromkeys(find_session(store, name) for name in options.sessions)
        ]
        if not options.yes and not _agreed(found, screen):
            return 1
        asyncio.run(_delete(workspace, found))
    if options.json:
        print_json(DeleteReport(deleted=tuple(info.session_id for info in found)))
    else:
        screen.print([f"Deleted {plural(len(found), 'session')}."])
    return 0


async def _delete(workspace: Workspace, found: list[SessionInfo]) -> None:
    for info in found:
        await delete_session(workspace, info.session_id)


def _agreed(found: list[SessionInfo], screen: Screen) -> bool:
    if not sys.stdin.isatty():
        raise InputError(f"delete {plural(len(found), 'session')}? There is no terminal to ask on; give --yes")
    for info in found:
        sys.stderr.write(
            f"  {info.session_id}  {clean(info.title, screen.glyphs)}  {plural(info.messages, 'message')}\n"
        )
    sys.stderr.write(f"Delete {plural(len(found), 'session')} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
