"""`ullage inspect`: prints the events of a session's log as text, for debugging."""

from argparse import Namespace
from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.text import fit
from ullage.cli.output import Screen, print_bytes
from ullage.model.blocks import TextBlock
from ullage.model.events import Event, MessageAppended, Record, ToolsDeclared
from ullage.model.json_values import encode_json
from ullage.model.message import Message
from ullage.service.archive.naming import find_session

_POSITION, _NAME, _DETAILS = 6, 18, 120


def run(args: Namespace) -> int:
    """Prints one line per event of a session's log: its position, time (UTC), name and details, or with `--json` one
    object per event. Returns 0. Raises `SessionNotFound`."""
    with open_workspace(args.store, to_read=True) as workspace:
        store = workspace.ports.store
        records = store.read(find_session(store, args.session))
    if args.json:
        print_bytes(b"".join(encode_json(record) + b"\n" for record in records))
    else:
        screen = Screen.of(args)
        screen.print(_line(record, screen.glyphs) for record in records)
    return 0


def _line(record: Record, glyphs: Glyphs) -> Text:
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
