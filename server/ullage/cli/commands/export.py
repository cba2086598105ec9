"""`ullage export`: writes a stored session as text, or the agent's own file byte for byte, or with `--events` lists the
events of its log."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import msgspec
from rich.text import Text

from ullage.agents.discovery import Wanted, kept_path
from ullage.app.compose import open_originals, open_workspace
from ullage.cli.arguments import StoreOptions, add_conversation, add_json, number, read_options
from ullage.cli.drawing import STDOUT, Glyphs, Screen, escaped, fit, plural, print_bytes, write_output
from ullage.model.errors import InputError, NotFound, SessionNotFound
from ullage.model.events import Event, MessageAppended, Record, ToolsDeclared
from ullage.model.json_values import encode_json
from ullage.model.message import Message, TextBlock
from ullage.service.archive.export import choose_version, export_session, find_originals, read_version
from ullage.service.archive.naming import find_session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import Original
from ullage.system.growing_files import AgentOriginals


class ExportOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage export`. `version` counts from 1."""

    session: str
    shape: str
    original: bool
    events: bool
    version: int | None
    output: Path | None


def add_arguments(parser: ArgumentParser) -> None:
    add_conversation(parser)
    parser.add_argument(
        "--original",
        action="store_true",
        help="the agent's own file, byte for byte as it was: from the archive, or from its place. With a folder as "
        "--output, the files that belong to it, too",
    )
    parser.add_argument(
        "--version", type=number, metavar="N", help="with --original: which version of a file that was rewritten"
    )
    parser.add_argument(
        "--as",
        dest="shape",
        choices=["ullage", "anthropic", "openai"],
        default="ullage",
        help="the whole log (default), or the context as a provider's request",
    )
    parser.add_argument("--events", action="store_true", help="list the events of its log, one a line")
    add_json(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file, not to standard output")


# Conversations with one id of their agent's that are looked at.
_CANDIDATES = 5


def run(args: Namespace) -> int:
    """Prints a stored session's log, or its context as a provider's request, in UTF-8, or writes it to the file of
    `--output`. With `--original`, does so with the agent's own file; with `--events`, lists the log. Returns 0."""
    options = read_options(args, ExportOptions)
    with open_workspace(options.store, to_read=True) as workspace:
        if options.original or options.events:
            export_original(workspace, options) if options.original else _list_events(
                workspace, options, Screen.of(args)
            )
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
    found = workspace.ports.transcripts(wanted).conversations if origin else ()
    paths = {path for one in found if (path := kept_path(one.path, one.origin_id))}
    if len(paths) == 1:
        return paths.pop()
    if paths:
        raise NotFound(f"{name!r} could be any of {', '.join(sorted(paths))}")
    raise NotFound(f"no original of {name!r}, neither kept nor in its agent's folder; `ullage keep` says what is kept")


def _read(path: str) -> bytes:
    try:
        with AgentOriginals().opened(path) as file:
            return file.read(0, file.stat[0])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


_POSITION, _NAME, _DETAILS = 6, 18, 120


def _list_events(workspace: Workspace, options: ExportOptions, screen: Screen) -> None:
    """Prints one line per event of a conversation's log: its position, time (UTC), name and details, or with `--json`
    one object per event. Raises `SessionNotFound`."""
    records = workspace.ports.store.read(find_session(workspace.ports.store, options.session))
    if options.json:
        print_bytes(escaped(b"".join(encode_json(record) + b"\n" for record in records)))
    else:
        screen.print(_event_line(record, screen.glyphs) for record in records)


def _event_line(record: Record, glyphs: Glyphs) -> Text:
    time = datetime.fromtimestamp(record.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    name = str(record.event.__struct_config__.tag)
    return Text.assemble(
        f"{record.position:>{_POSITION}}  ",
        (time, "dim"),
        "  ",
        (fit(name, _NAME, glyphs), "bold"),
        "  ",
        fit(_details(record.event), _DETAILS, glyphs).rstrip(),
    )


def _details(event: Event) -> str:
    match event:
        case MessageAppended(message=message, count=count):
            tokens = "" if count is None else f" {count.parts.total:,} tokens"
            return f"{message.role} {message.id}{tokens}: {_opening(message)}"
        case ToolsDeclared(tools=tools):
            return ", ".join(tool.name for tool in tools)
        case _:
            fields: dict[str, Any] = msgspec.to_builtins(event)
            return encode_json({name: value for name, value in fields.items() if name != "type"}).decode()


def _opening(message: Message) -> str:
    """Returns the first text of a message, or the kinds of its blocks if it has no text."""
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    kinds = (str(block.__struct_config__.tag) for block in message.content)
    return texts[0] if texts else ", ".join(kinds)
