"""`ullage export`: writes a stored session as text, or the agent's own file byte for byte."""

import asyncio
import sys
from argparse import Namespace
from pathlib import Path, PurePath

from ullage.agents.discovery import Wanted, kept_path
from ullage.app.compose import open_workspace
from ullage.app.opening_archive import open_originals
from ullage.cli.draw.text import plural
from ullage.cli.output import STDOUT, write_output
from ullage.cli.typed_arguments import ExportOptions, read_options
from ullage.model.errors import InputError, NotFound, SessionNotFound
from ullage.service.archive.export import choose_version, export_session, find_originals, read_version
from ullage.service.archive.naming import find_session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.originals import Original
from ullage.system.transcript_files import AgentOriginals

# Conversations with one id of their agent's that are looked at.
_CANDIDATES = 5


def run(args: Namespace) -> int:
    """Prints a stored session's log, or its context as a provider's request, in UTF-8, or writes it to the file of
    `--output`. With `--original`, does so with the agent's own file. Returns 0."""
    options = read_options(args, ExportOptions)
    with open_workspace(options.store, to_read=True) as workspace:
        if options.original:
            export_original(workspace, options)
            return 0
        session_id = find_session(workspace.ports.store, options.session)
        text = asyncio.run(export_session(workspace.open(session_id), options.shape))
    data = (text if text.endswith("\n") else text + "\n").encode()
    write_output(options.output or STDOUT, data)
    return 0


def export_original(workspace: Workspace, options: ExportOptions) -> None:
    """Writes the agent's own file of a conversation to the file of `--output` or to standard output. If `--output` is a
    folder, writes the files that belong to it there, too.

    Raises `NotFound` if neither the archive nor the agent's folder has the file, and `InputError` if it can't be
    written.
    """
    output = options.output or STDOUT
    with open_originals(options.store) as originals:
        found = find_originals(workspace.ports.store, originals, options.session) if originals else ()
        if originals and found:
            main, *others = found
            data = b"".join(read_version(originals, choose_version(main, options.version)))
            if not output.is_dir():
                write_output(output, data)
                _tell(others)
                return
            _write_into(output, main, main, data)
            for other in others:
                _write_into(output, main, other, b"".join(read_version(originals, choose_version(other))))
            return
    path = _in_place(workspace, options.session)
    write_output(output / PurePath(path).name if output.is_dir() else output, _read(path))


def _write_into(folder: Path, main: Original, one: Original, data: bytes) -> None:
    """Writes a file into a folder, at the place that it had next to the conversation's own file."""
    path, beside = PurePath(one.source.path), PurePath(main.source.path).parent
    target = folder / (path.relative_to(beside) if path.is_relative_to(beside) else path.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_output(target, data)


def _tell(others: list[Original]) -> None:
    if others:
        what = "1 more file belongs" if len(others) == 1 else f"{plural(len(others), 'more file')} belong"
        sys.stderr.write(f"ullage: {what} to it; with an existing folder as --output, all of them are written\n")


def _in_place(workspace: Workspace, name: str) -> str:
    """Returns the path of an agent's file that is still where the agent keeps it, made up for rows in a database.
    Raises `NotFound` if there is none, or several."""
    origin = name
    try:
        session_id = find_session(workspace.ports.store, name)
    except SessionNotFound:
        pass
    else:
        origin = next((one.origin_id for one in workspace.ports.store.imported() if one.session_id == session_id), "")
    wanted = Wanted(limit=_CANDIDATES, origin=origin)
    found = workspace.ports.transcripts.find(wanted).conversations if origin else ()
    paths = {path for one in found if (path := kept_path(one.path, one.origin_id))}
    if len(paths) == 1:
        return paths.pop()
    if paths:
        raise NotFound(f"{name!r} could be any of {', '.join(sorted(paths))}")
    raise NotFound(
        f"no original of {name!r}, neither in the archive nor in its agent's folder; `ullage archive` says what is kept"
    )


def _read(path: str) -> bytes:
    try:
        with AgentOriginals().opened(path) as file:
            return file.read(0, file.stat[0])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
